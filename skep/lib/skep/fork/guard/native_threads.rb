# frozen_string_literal: true

require "rbconfig"

module Skep
  module Fork
    module Guard
      # Finds the native threads of C libraries. A child has none of them.
      class NativeThreads
        WHAT = "native threads"
        ADVICE = "a child won't have it, and its library will wait for it in vain: " \
                 "make that library's clients after the fork, or close them before it"
        FRAMES = 1024 # Bytes of stack: libc's frames of a wait, and the one that called them.
        RUBY_NAME = /\Askep\.|.:\d+\z|\*\z/ # File and line; a star if cut short.
        MOMENT = 0.01 # Seconds that a thread which has ended may take to vanish.
        MOMENTS = 20 # Looks until a thread that runs counts as Ruby's.
        private_constant :ADVICE, :FRAMES, :RUBY_NAME, :MOMENT, :MOMENTS

        # A native thread of this process, as Linux lists it.
        #
        #   Task.foreign.map(&:name)   # => ["rdk:main", "rdk:broker1"], none of Ruby's own
        #
        # Thread#native_thread_id identifies those of Ruby's threads. Ruby has more: a timer, ended
        # threads that it keeps for the next Thread.new (up to 3.2), those of Ractors. In these Ruby
        # itself has called what they wait in, while a library's thread has only the library's and
        # libc's frames. A thread that runs can't be asked, and is unclear if it has the name of a
        # Ruby thread, as each thread has that isn't named yet: it counts as Ruby's if it stays so.
        # A Ruby thread that was made just now has no number yet: for each of these one other
        # thread is left out.
        # Source: proc(5), /proc/pid/task, /proc/pid/task/tid/syscall and /proc/pid/maps.
        Task = Struct.new(:tid, :name, :unclear) do
          class << self
            # A thread that has just ended is still at work for a moment, and one that has just
            # begun has no name of its own: hence a second look.
            def foreign
              tids = (tasks = look).map(&:tid)
              MOMENTS.times do
                break if tasks.empty?

                IO.select(nil, nil, nil, MOMENT)
                tasks = look.select { |task| tids.include?(task.tid) }
                break if tasks.none?(&:unclear)
              end
              tasks.reject(&:unclear)
            rescue Errno::ENOENT
              [] # Not Linux.
            end

            private

            # Asks Ruby before and after, as threads come and go.
            def look
              before = Thread.list.map(&:native_thread_id)
              tids = Dir.children("/proc/self/task").map(&:to_i).sort
              born, unborn = Thread.list.partition(&:native_thread_id)
              # In a forked child Ruby 3.1 gives its main thread the parent's number.
              numbers = [Process.pid, *before, *born.map(&:native_thread_id)]
              rubys, others = tids.partition { |tid| numbers.include?(tid) }
              names = rubys.map { |tid| name(tid) } + unborn.map { |thread| name_of(thread) }
              tasks = others.filter_map do |tid|
                rubys = rubys?(tid, names)
                new(tid, name(tid), rubys.nil?) unless rubys
              end
              tasks.sort_by { |task| names.include?(task.name) ? 0 : 1 }.drop(unborn.size)
            end

            # Returns nil if it has ended.
            def name(tid) = read(tid, "comm")&.chomp&.scrub

            # Linux keeps 15 bytes.
            def name_of(thread) = RubyThreads::NAME.bind_call(thread)&.byteslice(0, 15)&.scrub

            # `names` are those of Ruby's threads. Returns nil if it is unclear.
            def rubys?(tid, names)
              waits = called_by_ruby?(tid)
              name = name(tid).to_s
              return true if name.match?(RUBY_NAME)

              waits.nil? && !names.include?(name) ? false : waits
            end

            # Returns nil while it runs, or if the kernel doesn't say.
            def called_by_ruby?(tid)
              return unless read(tid, "stat")&.include?(") S ") # "sleeping"

              pointer = read(tid, "syscall").to_s.split[-2].to_s.hex
              stack = File.open("/proc/self/mem", "rb") { |mem| mem.pread(FRAMES, pointer) }
              code = ruby_code
              stack.unpack("J*").any? { |word| code.any? { |span| span.cover?(word) } }
            rescue SystemCallError, EOFError
              nil
            end

            def read(tid, file)
              File.read("/proc/self/task/#{tid}/#{file}")
            rescue SystemCallError
              nil # It has ended since, or this is hidden.
            end

            def ruby_code
              files = [File.readlink("/proc/self/exe").b, RbConfig::CONFIG["LIBRUBY_SO"]]
              File.foreach("/proc/self/maps", mode: "rb").filter_map do |line|
                span, rights, _offset, _device, _inode, path = line.chomp.split(" ", 6)
                next unless rights.include?("x") && path&.end_with?(*files)

                first, last = span.split("-").map(&:hex)
                first...last
              end
            end
          end
        end

        def initialize(inventory)
          @inventory = inventory
        end

        def findings
          @inventory.native_threads.map do |task|
            Finding.new(kind: :native_thread, what: "the native thread #{task.name.inspect}",
                        where: "task #{task.tid} of pid #{Process.pid}", advice: ADVICE)
          end
        end
      end
      private_constant :NativeThreads
    end
  end
end
