# frozen_string_literal: true

require "test_helper"

class PoolStressTest < Skep::TestCase
  PROGRAM = File.expand_path("pool/stress.rb", __dir__)
  BATCHES = 200
  private_constant :PROGRAM, :BATCHES

  test "gives right results or right errors, whatever is killed, raised, forked or late" do
    seed = Random.new_seed % 1_000_000
    out, err, status = run_program(PROGRAM, [seed, BATCHES], timeout: 120)
    told = out.scan(/^(.*): (\d+)$/).to_h { |what, count| [what, count.to_i] }
    assert status.success?, "seed #{seed}: #{err}"
    assert_empty err, "seed #{seed}"
    assert_equal 1, told.delete("closed"), "seed #{seed}: #{out}"
    assert_empty told.keys.grep(/WRONG/), "seed #{seed}"
    assert_equal BATCHES, told.values.sum
  end
end
