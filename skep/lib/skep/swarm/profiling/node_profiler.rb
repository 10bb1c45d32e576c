# frozen_string_literal: true

# Profiles the process in which it runs, for some seconds. The control thread drives it.
#
#   profiler = NodeProfiler.new(10.0).start
#   profiler.tick while OS.now >= profiler.due …   # until it is over?
#   profiler.result(65_536)   # => StackTable#to_plain, and "seconds", "cpu", "samples", "lost",
#                             #    "sampler"
#
# | state | what | how |
# |---|---|---|
# | cpu | a thread uses the CPU | OS::StackSampler: a signal for each 5 ms of CPU time |
# | queue | it can run, and waits for a CPU | readings, the kernel's count of that time |
# | gvl | it can run, and waits for the GVL | readings |
# | wait | it waits for anything else | readings |
#
# A reading looks at all threads' stacks. It needs the GVL, and so comes when a thread gives it up:
# for that reason the stack that is read counts only for the time in which its thread did not use
# the CPU, by the kernel's count. The next reading comes after 330 times what the last one has cost,
# so that a node with many threads spends no more than 0.3% on them; and later than that where
# processes wait for a CPU. A thread that begins meanwhile counts from its second reading on.
#
# Without the sampler (no C part, or another profiler has SIGPROF), CPU time counts for the stack
# that was read. "sampler" is false then: the shares are rough.
module Skep
  class Swarm
    module Profiling
      class NodeProfiler
        INTERVAL = 5_000 # microseconds of CPU time: 200 samples per second of a full CPU
        TAKE_EVERY = 2.0 # seconds: the sampler has room for 5 s of a full CPU
        READ_SHARE = 0.003 # of a CPU
        READ_EVERY = (0.05..5.0) # seconds
        DEPTH = 200
        MOST = 5_000 # distinct samples, and distinct readings: a few megabytes
        GC_FRAME = ["(garbage collection)", nil, nil].freeze
        NATIVE_FRAME = ["(code that isn't Ruby's)", nil, nil].freeze
        UNKNOWN_FRAME = ["(unknown)", nil, nil].freeze
        UNNAMED = "a thread without a name"
        BIRTH = File.expand_path("../processes/node_main.rb", __dir__)
        private_constant :INTERVAL, :TAKE_EVERY, :READ_SHARE, :READ_EVERY, :DEPTH, :MOST, :GC_FRAME,
                         :NATIVE_FRAME, :UNKNOWN_FRAME, :UNNAMED, :BIRTH

        def initialize(seconds)
          @seconds = seconds
          @samples = Hash.new(0)
          @readings = Hash.new(0.0)
          @left_out = Hash.new(0.0) # seconds by state, of those beyond MOST
          @left_out_samples = 0
          @stacks = {} # as they were read
          @names = {} # of threads by tid
          @times = {} # of threads by tid: seconds on a CPU, and in its queue, at the last reading
        end

        def start
          @began = @read_at = OS.now
          @cpu_before = cpu
          @take_at = @began + TAKE_EVERY
          OS::StackSampler.lost
          @sampler = OS::StackSampler.start(INTERVAL)
          read(@began)
          self
        end

        # Monotonic seconds.
        def due = [@began + @seconds, @take_at, @read_next].min

        def over? = @ended ? true : false

        def tick
          now = OS.now
          return finish(now) if now >= @began + @seconds

          take(now) if now >= @take_at
          read(now) if now >= @read_next
        end

        # Ends the sampling.
        def stop
          OS::StackSampler.stop if @sampler
        end

        def result(bytes)
          used = @ended[:cpu]
          table = StackTable.new
          taken = @samples.each_value.sum + @left_out_samples
          unit = taken.zero? ? 0.0 : used / taken
          frames = Hash.new { |all, number| all[number] = frame(number) }
          @samples.each { |sample, count| add_sample(table, sample, count * unit, frames) }
          @readings.each { |key, seconds| add_reading(table, *key, seconds) }
          @left_out["cpu"] += @left_out_samples * unit
          @left_out.each { |state, seconds| table.drop(state, seconds) if seconds.positive? }
          { "seconds" => @ended[:seconds].round(3), "cpu" => used.round(4),
            "samples" => taken, "lost" => @ended[:lost], "sampler" => @sampler,
            **table.to_plain(bytes) }
        end

        private

        def take(now)
          @take_at = now + TAKE_EVERY
          OS::StackSampler.take.each do |sample|
            room = @samples.size < MOST || @samples.key?(sample)
            room ? @samples[sample] += 1 : @left_out_samples += 1
          end
        end

        def finish(now)
          used = cpu - @cpu_before # before the reading, as at the start: in Ruby that takes time
          stop
          take(now)
          read(now)
          name_native_threads
          @ended = { seconds: now - @began, cpu: used, lost: OS::StackSampler.lost }
        end

        def cpu = ::Process.clock_gettime(::Process::CLOCK_PROCESS_CPUTIME_ID)
        def own_cpu = ::Process.clock_gettime(::Process::CLOCK_THREAD_CPUTIME_ID)

        def read(now)
          before = own_cpu
          threads = Thread.list.to_h { |thread| [thread, since_last(thread)] }.compact
          all_used, all_queued = threads.values.transpose.map(&:sum)
          threads.each do |thread, (used, queued)|
            # Another thread had the GVL for as long as others were running, or in the queue.
            others = all_used + all_queued - used - queued
            add(thread, now - @read_at, used, queued, others) unless thread == Thread.current
          end
          @read_at = now
          @read_next = now + pause(own_cpu - before, all_used.to_f, all_queued.to_f)
        end

        # cost: CPU seconds of a reading. The share of them is of what this process can get.
        def pause(cost, used, queued)
          gets = used.positive? ? used / (used + queued) : 1.0
          (cost / READ_SHARE / gets).clamp(READ_EVERY)
        end

        # Returns for how many seconds the thread has used a CPU, and waited for one, since the last
        # reading; nil for a thread that is new: it counts from its second reading on.
        def since_last(thread)
          tid = tid(thread) or return
          @names[tid] = name(thread) if @names.fetch(tid, UNNAMED) == UNNAMED
          before = @times[tid]
          @times[tid] = OS::StackSampler.times(tid) || before || [0.0, 0.0]
          before && @times[tid].zip(before).map { |one, other| [one - other, 0.0].max }
        end

        def add(thread, elapsed, used, queued, others)
          status = thread.status or return
          key = [tid(thread), Label.of(thread), stack(thread)]
          count("cpu", key, used) unless @sampler
          count("queue", key, queued)
          rest = elapsed - used - queued
          gvl = status == "run" ? [rest, others].min : 0.0
          count("gvl", key, gvl)
          count(status == "run" ? "queue" : "wait", key, rest - gvl)
        end

        def count(state, key, seconds)
          return unless seconds.positive?

          key = [state, *key]
          room = @readings.size < MOST || @readings.key?(key)
          room ? @readings[key] += seconds : @left_out[state] += seconds
        end

        # Its lines tell whether a stack is one that was read before.
        def stack(thread)
          locations = thread.backtrace_locations(0, DEPTH) || []
          key = [locations.first&.path, *locations.map(&:lineno)]
          @stacks.clear if @stacks.size > MOST
          @stacks[key] ||= [locations.first&.lineno,
                            locations.map { |one| [text(one.label), text(one.path), nil] }]
        end

        # Ruby 3.1 remembers the main thread's number from before the fork.
        def tid(thread) = thread == Thread.main ? ::Process.pid : thread.native_thread_id

        def name(thread)
          thread == Thread.main ? "main" : text(thread.name || UNNAMED)
        end

        def name_native_threads
          @samples.each_key do |sample|
            tid = sample.unpack1("L")
            @names[tid] ||= File.read("/proc/self/task/#{tid}/comm").chomp
          rescue SystemCallError # it has ended
            @names[tid] = "a thread that has ended"
          end
        end

        def add_sample(table, sample, seconds, frames)
          tid, label, kind, line, line_of, *numbers = sample.unpack("L*")
          stack = if kind == OS::StackSampler::GC then [GC_FRAME]
          elsif kind == OS::StackSampler::NATIVE then [NATIVE_FRAME]
          else own(numbers.map { |number| frames[number] })
          end
          line = line(stack, line, line_of)
          table.add("cpu", @names[tid], Label.facts(label), line, stack, seconds)
        end

        # Of the innermost Ruby code: the line that is known, or else the method's first.
        def line(stack, line, line_of)
          innermost = stack.index { |_, path, _| path }
          return line if innermost.nil? || innermost == line_of

          stack[innermost].last.to_i
        end

        def frame(number)
          name, path, line = OS::StackSampler.frame(number)
          name ? [text(name), path && text(path), line] : UNKNOWN_FRAME
        end

        def add_reading(table, state, tid, label, stack, seconds)
          line, frames = stack
          table.add(state, @names[tid], Label.facts(label), line.to_i, own(frames), seconds)
        end

        # Without the frames below NodeMain#run: how the mold came to fork the node.
        def own(frames)
          birth = frames.rindex { |name, path, _| path == BIRTH && name.match?(/\brun\z/) }
          birth ? frames.first(birth) : frames
        end

        # As JSON takes it.
        def text(string) = string.encode("UTF-8", invalid: :replace, undef: :replace).scrub
      end
    end
  end
end
