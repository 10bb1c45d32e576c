# frozen_string_literal: true

# Nodes pass random values to `node`, write random bytes, and random messages that are allowed, to
# their channel, write random bytes to the scoreboard page, hang, and are killed meanwhile.
# Supervisor, mold and helper keep running, status and probes are answered, and a wrong value raises
# ArgumentError at the line that passed it.
#
# SECONDS=600 runs longer than the usual 15 seconds; SEED=… repeats a run.
require_relative "scenario"

MetricsScenario.play do
  seconds = Float(ENV.fetch("SECONDS", "15"))
  seed = Integer(ENV.fetch("SEED") { Random.new_seed % 1_000_000 })
  puts "SEED=#{seed} SECONDS=#{seconds.round}"

  swarm = run_swarm(<<~RUBY)
    require "#{File.expand_path("../support/grammar", __dir__)}"

    # The messages of one node process: they follow from its number and the seed.
    class RandomMessages
      # Those that don't end it.
      KEPT = Skep::Swarm::IPC::Messages::FROM_NODE.types - %w[leaving became_mold]

      def initialize(node, number)
        @node, @number = node, number
        @random = Random.new(#{seed} * 1_000_003 + number)
        @grammar = Grammar.new(@random)
        @channel = ObjectSpace.each_object(Skep::Swarm::IPC::Channel).find { |one| !one.closed? }
        @layout = ObjectSpace.each_object(Skep::Swarm::IPC::Scoreboard::Layout).first
        @page = ObjectSpace.each_object(Skep::OS::SharedPage).find { |one| !one.closed? }
      end

      def broken? = (@number % 3).zero?
      def hangs? = @number % 6 == 1
      def allowed? = @number % 6 == 2 # it is odd, but isn't ended for it

      def send_one
        return send_bytes(allowed(KEPT.sample(random: @random))) if allowed?

        @random.rand(broken? ? 2 : 1_000_000).zero? ? write : call
      end

      def allowed(type) = @grammar.message(Skep::Swarm::IPC::Messages::FROM_NODE, type)

      def send_bytes(bytes)
        @channel.to_io.write(bytes)
      rescue SystemCallError, IOError
        exit!(7) # the channel is closed
      end

      # A thread makes no progress, and what is said of the threads isn't true.
      def hang
        # The thread that would say it hangs, too.
        Skep::Swarm::Processes::ThreadDump.singleton_class.prepend(Module.new { def all(*) = Thread.stop })
        all = Array.new(10) { allowed("backtraces") }
        @node.ready!
        Thread.new { @node.thread(1).in_flight("hangs") }.join
        all.cycle do |bytes|
          send_bytes(bytes)
          @node.wait(0.05)
        end
      end

      # A wrong value raises ArgumentError, and its backtrace begins here.
      def call
        call_node(@random.rand(14), @grammar.value)
      rescue ArgumentError => e
        surprise(e) unless e.backtrace.first.start_with?("\#{__FILE__}:")
      rescue StandardError, SystemStackError => e
        surprise(e)
      end

      def call_node(which, value)
        node = @grammar.one_in(5) ? @node.thread(1) : @node
        case which
        when 0, 1 then node.event(@grammar.name, level: @grammar.level, **facts)
        when 2..5 then node.work = @grammar.work
        when 6 then node.in_flight(value)
        when 7 then node.in_flight(@grammar.text)
        when 8 then node.unhealthy!(value)
        when 9 then node.assigned!(@grammar.one_in(2) ? value : true, **facts)
        when 10 then node.processed(@grammar.number)
        when 11 then node.current_item(@grammar.one_in(2) ? value : @grammar.number)
        when 12 then node.busy(for: value)
        else @grammar.one_in(2) ? node.healthy! : node.in_flight(@grammar.text, thread: value)
        end
      end

      def facts = @grammar.facts.reject { |key, _| %i[level name].include?(key) }

      def write
        return scribble if @grammar.one_in(4)

        if @grammar.one_in(12)
          File.open(File::NULL) { |io| @channel.to_io.send_io(io) }
        else
          @channel.to_io.write(@grammar.frame)
        end
      rescue SystemCallError, IOError
        exit!(7) # the channel is closed
      end

      # Writes to its own cells of the page.
      def scribble
        index = @node.instance_variable_get(:@page_index)
        cell = [*@layout.all(index), @layout.memory(index)].sample(random: @random)
        blob = @grammar.one_in(2) ? @grammar.text : @grammar.frame
        @page.write(cell, blob.b[0, 438]) if @grammar.one_in(2)
        @page.set(cell, @random.rand(1..6), [0, 1, 2**63, 2**64 - 1, @random.rand(2**64)].sample(random: @random))
      end

      def surprise(error) = @node.event(:surprise, level: :error, number: @number, error: Skep::Swarm::IPC::PlainData.error(error), at: error.backtrace.first(5))
    end

    Skep.swarm "random", nodes: 4, spares: 1, metrics: "127.0.0.1:0", max_restarts: 1_000_000, stop_timeout: 10, liveness_timeout: 2, kill_timeout: 2, memory_limit: "8G" do |swarm|
      swarm.work do |node|
        number = File.open("\#{__dir__}/processes", "a") { |file| file.flock(File::LOCK_EX) && file.tap { file.syswrite(".") }.size }
        messages = RandomMessages.new(node, number)
        messages.hang if messages.hangs?
        node.ready!
        until node.stopping?
          4.times { messages.send_one }
          node.wait(0.01)
        end
      end
    end
  RUBY
  address(swarm)
  mold = swarm.await("mold_ready")["pid"]
  helper = swarm.await("node_ready") { |one| one["node"] == "helper" }["pid"]
  kept = { "supervisor" => swarm.pid, "mold" => mold, "helper" => helper }
  pidfds = kept.transform_values { |pid| Skep.pidfd(pid) }
  at_end { pidfds.each_value(&:close) }

  random = Random.new(seed)
  received = Hash.new(0)
  requests = Hash.new(0)
  slowest = Hash.new(0.0)
  look = lambda do
    swarm.events.each do |event|
      received[event["event"]] += 1
      named = event["event"].to_s
      wrong = %w[surprise supervisor_error mold_protocol_error mold_died].include?(named) ||
              (event["node"] == "helper" &&
               [*GONE, "node_protocol_error", "node_hung"].include?(named))
      raise Scenario::Failed, "it must have none of these: #{event.to_s[0, 3_000]}" if wrong
    end
    ended = pidfds.reject { |_, pidfd| pidfd.alive? }.keys
    raise Scenario::Failed, "it must keep #{ended}; #{swarm.account[0, 5_000]}" if ended.any?

    swarm.events.clear
    swarm.lines.clear
  end
  timed = lambda do |what, &ask|
    began = Skep::OS.now
    begin
      answer = ask.call
    rescue Skep::Error, SystemCallError, EOFError, Timeout::Error => e
      answer = "#{e.class}: #{e.message}"
    end
    slowest[what] = [slowest[what], (Skep::OS.now - began).round(2)].max
    requests[what] += 1
    answer
  end
  # Retries: the supervisor may be slow on a busy machine.
  probe = lambda do |path, good|
    deadline = Skep::OS.now + Scenario::SECONDS
    answer = nil
    loop do
      answer = timed.call(path) { get(path) }
      code, body = answer if answer.is_a?(Array)
      break if good.include?(code) && !body.include?("didn't answer")

      requests["#{path} again"] += 1
      look.call
      must("answer #{path}, not #{answer.to_s[0, 300]}") { Skep::OS.now < deadline }
    end
    answer.last
  end

  deadline = Skep::OS.now + seconds
  rounds = killed = 0
  until Skep::OS.now > deadline
    swarm.follow_for(0.2)
    look.call
    must("be healthy") { probe.call("/healthz", [200]).include?("is running") }
    probe.call("/readyz", [200, 503])
    figures = probe.call("/metrics", [200]).lines.grep_v(/\A#/)
    must("serve only finite numbers as metrics") do
      figures.all? { |line| Float(line.rpartition(" ").last, exception: false)&.finite? }
    end
    status = timed.call("status") { swarm.status("random") }
    whole = status.is_a?(Hash) && status["nodes"].size == 5
    must("answer status, not #{status.inspect[0, 300] unless whole}") { whole }
    if (rounds % 50).zero?
      output = timed.call("skep status") { swarm.skep("status", "random", "--partitions").to_s }
      must("print the status as a table: #{output[0, 2_000]}") { output.empty? }
    end
    rounds += 1
    victim = status["nodes"].select { |node| node["state"] == "ready" }.sample(random:)
    begin
      swarm.kill(victim["pid"]) if victim
      killed += 1 if victim
    rescue Errno::ESRCH
      next # it has already ended
    end
  end
  look.call
  failed = swarm.stderr.lines.grep(/\Askep: /)
  must("have no observer fail: #{failed.first(3)}") { failed.empty? }
  stopped = swarm.stop
  must("stop with 0, or 2 if it had to kill; #{stopped}") { [0, 2].include?(stopped.exitstatus) }
  processes = File.size("#{swarm.directory}/processes")
  puts "requests #{requests}, slowest #{slowest}, killed #{killed}, node processes #{processes}"
  puts "received #{received.sort_by { |_, times| -times }.first(40).to_h}"
end
