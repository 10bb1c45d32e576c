# frozen_string_literal: true

require "rbconfig"

module Skep
  module Fork
    module Guard
      # Finds the native threads of C libraries, such as librdkafka's. A child has none of them.
      class NativeThreads
        WHAT = "native threads"
        ADVICE = "a child won't have it, and its library will wait for it in vain: " \
                 "make that library's clients after the fork, or close them before it"
        private_constant :ADVICE

        def initialize(inventory)
          @inventory = inventory
        end

        def findings
          @inventory.native_threads.map do |task|
            Finding.new(kind: :native_thread, what: "the native thread #{task.name.inspect}",
                        where: "task #{task.tid} of pid #{Process.pid}", advice: ADVICE)
          end
        end

        # A native thread of this process, as Linux lists it.
        #
        #   Task.foreign.map(&:name)   # => ["rdk:main", "rdk:broker1"], none of Ruby's own
        #   task.tid                   # the kernel's number
        #
        # Thread#native_thread_id identifies those of Ruby's threads, once they have run. A thread
        # that was made just now has no number yet: for each of these one other task is skipped, if
        # possible one with a Ruby thread's name. Ruby has more native threads: a timer (3.3 on),
        # ended ones, kept for the next Thread.new (up to 3.2), and those of Ractors, which later
        # ones share (3.3 on). BlockedOn recognizes them by what they wait for, and where. A running
        # task can't be asked, and counts as Ruby's if it has the name of a Ruby thread, as each
        # task has that was never named. A name that only Ruby gives ("app.rb:12") always counts as
        # Ruby's: unnamed library threads that were started in such a thread are missed. A named
        # Ruby thread that ended at this moment may be reported.
        # Source: proc(5), /proc/pid/task.
        class Task
          FOLDER = "/proc/self/task"
          RUBY_NAME = /\Askep\.|.:\d+\z|\*\z/ # File and line; a star if cut short.
          private_constant :FOLDER, :RUBY_NAME

          attr_reader :tid
          attr_reader :name

          # Returns those that aren't Ruby's. Asks Ruby before and after, as threads come and go.
          def self.foreign
            before = Thread.list.map(&:native_thread_id)
            tasks = all
            born, unborn = Thread.list.partition(&:native_thread_id)
            # In a forked child Ruby 3.1 gives its main thread the parent's number.
            numbers = [Process.pid, *before, *born.map(&:native_thread_id)]
            rubys, others = tasks.partition { |task| numbers.include?(task.tid) }
            names = [*rubys.map(&:name), *unborn.filter_map(&:name)]
            others.reject! { |task| task.ruby?(names) }
            others.sort_by { |task| task.named_as?(names) ? 0 : 1 }.drop(unborn.size)
          end

          # Returns all of this process; [] without /proc.
          def self.all
            Dir.children(FOLDER).map(&:to_i).sort.filter_map do |tid|
              new(tid)
            rescue Errno::ENOENT, Errno::ESRCH
              nil # It has ended since.
            end
          rescue Errno::ENOENT
            [] # Not Linux.
          end

          def initialize(tid)
            @tid = tid
            @name = File.read("#{FOLDER}/#{tid}/comm").chomp.scrub
            @wait = BlockedOn.of(tid)
          end

          # Returns true if Ruby keeps it for itself. `names` are those of Ruby's threads.
          def ruby?(names)
            name.match?(RUBY_NAME) || (@wait ? @wait.rubys? : named_as?(names))
          end

          # Returns true if it has the name of a Ruby thread. Linux keeps 15 bytes of a name.
          def named_as?(names)
            name.match?(RUBY_NAME) || names.any? { |one| one.byteslice(0, 15).scrub == name }
          end

          def inspect = "#<#{self.class} #{tid} #{name}>"
        end

        # What a native thread waits for, by its system call and that call's arguments.
        #
        #   wait = BlockedOn.of(tid)   # nil while it runs, or if the kernel doesn't say
        #   wait.kept?                 # as ended threads do that Ruby 3.1 and 3.2 keep
        #   wait.timer?                # as Ruby's timer does, from 3.3 on
        #
        # Knows the numbers of system calls of x86-64 and of the generic table (ARM64, RISC-V).
        # Source: proc(5), /proc/pid/syscall and /proc/pid/maps; futex(2), epoll_wait(2).
        class BlockedOn
          X86 = RbConfig::CONFIG["host_cpu"] == "x86_64"
          FUTEX, EPOLL = X86 ? [[202], [232, 281]] : [[98], [22]]
          KEPT = RUBY_VERSION < "3.3"
          INNERMOST = 4096 # Bytes of stack that hold a kept thread's last few frames.
          FRAMES = 1024 # Bytes of stack: libc's frames of a wait, and the one that has called them.
          private_constant :X86, :FUTEX, :EPOLL, :KEPT, :INNERMOST, :FRAMES

          def self.of(tid)
            call, *numbers = File.read("/proc/self/task/#{tid}/syscall").split
            new(Integer(call), numbers.map(&:hex)) if call.match?(/\A\d/)
          rescue Errno::EACCES, Errno::EPERM, Errno::ENOENT
            nil # Hidden, or not in this kernel.
          end

          # Returns the memory of Ruby itself: its program, its library, and the zeroed pages that
          # follow each.
          # code: only what can be executed.
          def self.ruby_memory(code: false)
            files = [File.readlink("/proc/self/exe").b, RbConfig::CONFIG["LIBRUBY_SO"]]
            edge = nil
            File.foreach("/proc/self/maps", mode: "rb").filter_map do |line|
              span, rights, _offset, _device, _inode, path = line.chomp.split(" ", 6)
              first, last = span.split("-").map(&:hex)
              ruby = path.to_s.empty? ? first == edge : path.end_with?(*files)
              (edge = last) && (!code || rights.include?("x")) && (first...last) if ruby
            end
          end

          # `numbers` are the call's six arguments, the stack pointer and the program counter.
          def initialize(call, numbers)
            @call = call
            @numbers = numbers
          end

          def rubys? = kept? || timer? || called_by_ruby?

          # Returns true if it waits for a condition on its own stack, with a deadline there, too.
          def kept?
            word, _, _, deadline, _, _, stack = @numbers
            innermost = stack..(stack + INNERMOST)
            KEPT && FUTEX.include?(@call) && innermost.cover?(word) && innermost.cover?(deadline)
          end

          # Returns true if Ruby's own code has called what waits: its innermost frames return to
          # there. A library's thread has only the library's and libc's.
          def called_by_ruby?
            return false unless FUTEX.include?(@call)

            words = File.open("/proc/self/mem", "rb") { |mem| mem.pread(FRAMES, @numbers[6]) }
            code = self.class.ruby_memory(code: true)
            words.unpack("J*").any? { |word| code.any? { |span| span.cover?(word) } }
          rescue SystemCallError, EOFError # it has ended, or this process may not read its memory
            false
          end

          # Returns true if it waits for events to be written to Ruby's own memory, or for a lock
          # there.
          def timer?
            word, events = @numbers
            address = word if FUTEX.include?(@call)
            address = events if EPOLL.include?(@call)
            !address.nil? && self.class.ruby_memory.any? { |span| span.cover?(address) }
          end
        end
        private_constant :BlockedOn
      end
      private_constant :NativeThreads
    end
  end
end
