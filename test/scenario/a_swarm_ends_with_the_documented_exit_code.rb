# frozen_string_literal: true

# Real swarms end with each exit code of docs/reference/exit_codes.md.
require_relative "scenario"

Scenario.play do
  ended = lambda do |what, swarm, code, &action|
    action&.call(swarm)
    status = swarm.wait
    must("exit with #{code} when #{what}, not #{status.inspect}; #{swarm.account}") do
      status.exitstatus == code
    end
    await_exit(swarm.nodes)
    must("leave no socket") { Dir.glob("#{swarm.directory}/*.sock").empty? }
    swarm
  end
  stubborn = <<~RUBY
    Skep.swarm("a", nodes: 2, stop_timeout: 0.5) do |s|
      s.work { |c| c.ready!; IO.select([IO.pipe.first], nil, nil, 3600) }
    end
  RUBY
  ready = ->(source) { run_swarm(source).tap { |swarm| swarm.await("node_ready", times: 2) } }

  %w[TERM INT].each do |name|
    ended.call("stopped by #{name}", ready.call(IDLE), 0) { |swarm| swarm.signal(name) }
  end
  ended.call("stopped over the socket", ready.call(IDLE), 0) do |swarm|
    Skep::Control::Client.new("#{swarm.directory}/idle.sock").call("stop")
  end
  ended.call("a node had to be killed at stop_timeout", ready.call(stubborn), 2) do |swarm|
    swarm.signal("TERM")
  end

  ended.call("`skep stop` had to kill a node", ready.call(stubborn), 2) do |swarm|
    said, code = Open3.capture2e(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "stop",
                                 "--control", "#{swarm.directory}/a.sock")
    must("report it, not #{said.inspect} and #{code}") do
      code.exitstatus == 2 &&
        said == "skep: a: a node was killed during the stop (exit code 2)\n"
    end
  end

  forced = ready.call(stubborn.sub("0.5", "60"))
  ended.call("a second TERM came", forced, 2) do |swarm|
    swarm.signal("TERM")
    swarm.await("swarm_stopping")
    IO.select(nil, nil, nil, 0.1) # an earlier TERM would count as the same one
    swarm.signal("TERM")
  end
  must("publish each node's death") do
    forced.events.count { |event| GONE.include?(event["event"]) && event["signal"] == "KILL" } == 2
  end
  ended.call("QUIT came", ready.call(stubborn.sub("0.5", "60")), 2) { |swarm| swarm.signal("QUIT") }

  never = lambda do |body|
    %(Skep.swarm("a", nodes: 2, restart: :never) { |s| s.work { |c| c.ready!; #{body} } })
  end
  ended.call("all work returned", run_swarm(never.call("nil")), 0)
  ended.call("work that isn't restarted failed", run_swarm(never.call("raise 'no'")), 4)

  loops = <<~RUBY
    Skep.swarm("a", nodes: 1, max_restarts: 3, on_crash_loop: :stop) do |s|
      s.work { |c| c.ready!; exit!(9) }
    end
  RUBY
  gave_up = ended.call("it gave up on a crash loop", run_swarm(loops), 4)
  must("give up at the fourth death") do
    gave_up.events.count { |event| GONE.include?(event["event"]) } == 4
  end

  { "s.on_boot { raise 'no database' }; s.work { }" => /RuntimeError: no database/,
    "s.work { }" => /the work returned before it called node.ready!, beat or wait: let it run .*/,
    "s.work { exit!(9) }" => /its process ended, exit status 9/ }.each do |body, reason|
    boots = %(Skep.swarm("a", nodes: 2, max_restarts: 1) { |s| #{body} })
    could_not = ended.call("no node could boot", run_swarm(boots), 1)
    must("print the reason: #{could_not.stderr}") do
      could_not.stderr.match?(/\Askep: \S+: no node could boot: #{reason}\Z/)
    end
  end

  { 75 => "a dependency isn't there", 78 => "the configuration is wrong",
    1 => "no exit code of a boot is given", 4 => "another exit code is given" }.each do |code, what|
    away = <<~RUBY
      class Away < Skep::BootError
        #{"def exit_code = #{code}" unless code == 1}
      end
      Skep.swarm("a", nodes: 2) { |s| s.on_boot { raise Away, "no database" }; s.work { } }
    RUBY
    ended.call(what, run_swarm(away), code == 4 ? 1 : code)
  end

  # Methods of the user's error may return or raise anything: skep still prints the reason.
  { %q(def exit_code = "75") => [1, "no disk"], "def exit_code = -1" => [1, "no disk"],
    'def exit_code = raise("odd")' => [1, "no disk"],
    'def exit_code = 75; def message = raise("odd")' => [75, "its message raised RuntimeError"] }
    .each do |methods, (code, sentence)|
    %w[on_boot preload].each do |hook|
      odd = <<~RUBY
        class Odd < Skep::BootError
          #{methods}
        end
        Skep.swarm("a", nodes: 2) { |s| s.#{hook} { raise Odd, "no disk" }; s.work { } }
      RUBY
      odd = ended.call("an error of #{hook} has #{methods}", run_swarm(odd), code)
      must("print the reason: #{odd.stderr}") { odd.stderr.match?(/^skep: .*: #{sentence}$/) }
    end
  end

  slow = <<~RUBY
    Skep.swarm("a", nodes: 1, boot_timeout: 0.4) do |s|
      s.on_boot { IO.select([IO.pipe.first], nil, nil, 3600) }
      s.work { |c| c.wait }
    end
  RUBY
  late = ended.call("no node was ready in time", run_swarm(slow), 1)
  must("print the reason: #{late.stderr}") { late.stderr.match?(/no node was ready within 0.8 s/) }
end
