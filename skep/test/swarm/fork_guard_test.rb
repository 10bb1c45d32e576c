# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# What the mold's guard logs before the first fork.
class ForkGuardTest < Skep::TestCase
  EXE = File.expand_path("../../exe/skep", __dir__)
  private_constant :EXE

  test "reports nothing for a bare swarm" do
    out, err, status = run_swarm("")
    assert_equal ["", 0], [err, status.exitstatus]
    refute_match(/fork_guard/, out)
    assert_match(/node_ready/, out)
  end

  test "warns of a finding that would break in a child, and logs no notes" do
    out, _, status = run_swarm(<<~RUBY)
      swarm.preload { Thread.new { Thread.stop }.name = "mailer" }
      swarm.preload { require "socket"; $pair = UNIXSocket.pair }
    RUBY
    assert_equal 0, status.exitstatus
    assert_match(/WARN  fork_guard .*the Ruby thread .*mailer/, out)
    assert_equal 1, out.scan("fork_guard").size
  end

  test "with fork_guard: :raise, refuses to fork, but not for a note" do
    _, err, status = run_swarm("swarm.preload { Thread.new { Thread.stop } }", fork_guard: :raise)
    assert_equal 78, status.exitstatus
    assert_match(/not safe to fork after preload/, err)
    _, _, status = run_swarm("swarm.preload { require 'socket'; $pair = UNIXSocket.pair }",
                             fork_guard: :raise)
    assert_equal 0, status.exitstatus
  end

  private

  def run_swarm(text, **options)
    Dir.mktmpdir do |folder|
      options = { nodes: 1, restart: :never, control: "#{folder}/s", **options }
      File.write("#{folder}/swarm.rb", <<~RUBY)
        Skep.swarm("guarded", **#{options.inspect}) do |swarm|
          #{text}
          swarm.work { |node| node.ready! }
        end
      RUBY
      run_program(EXE, ["run", "#{folder}/swarm.rb"], env: { "SKEP_RUN_DIR" => folder })
    end
  end
end
