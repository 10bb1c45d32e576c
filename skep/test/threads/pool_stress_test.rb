# frozen_string_literal: true

require "test_helper"

class PoolStressTest < Skep::TestCase
  PROGRAM = File.expand_path("pool/stress.rb", __dir__)
  BATCHES = 200
  private_constant :PROGRAM, :BATCHES

  test "returns right results or errors under random kills, errors, forks and timeouts" do
    seed = Random.new_seed % 1_000_000
    out, err, status = run_program(PROGRAM, [seed, BATCHES], timeout: 120)
    counts = out.scan(/^(.*): (\d+)$/).to_h { |what, count| [what, count.to_i] }
    assert status.success?, "seed #{seed}: #{err}"
    assert_empty err, "seed #{seed}"
    assert_equal 1, counts.delete("closed"), "seed #{seed}: #{out}"
    assert_empty counts.keys.grep(/WRONG/), "seed #{seed}"
    assert_equal BATCHES, counts.values.sum
  end
end
