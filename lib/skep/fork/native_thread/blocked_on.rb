# frozen_string_literal: true

require "rbconfig"

module Skep
  module Fork
    class NativeThread
      # What a native thread waits for, told by the numbers of its system call.
      #
      #   wait = BlockedOn.of(tid)   # nil while it runs, and where the kernel doesn't say
      #   wait.kept?                 # as ended threads do that Ruby 3.1 and 3.2 keep for later ones
      #   wait.timer?                # as Ruby's timer does, from 3.3 on
      #
      # The system calls' numbers are known for x86-64 and for those that came after it, which share
      # theirs (ARM64, RISC-V).
      # Source: proc(5), /proc/pid/syscall and /proc/pid/maps; futex(2), epoll_wait(2).
      class BlockedOn
        FUTEX, EPOLL = RbConfig::CONFIG["host_cpu"] == "x86_64" ? [[202], [232, 281]] : [[98], [22]]
        KEPT = RUBY_VERSION < "3.3"
        INNERMOST = 4096 # Bytes of stack that a kept thread's last few frames lie in.
        private_constant :FUTEX, :EPOLL, :KEPT, :INNERMOST

        #: (Integer tid) -> BlockedOn?
        def self.of(tid)
          call, *numbers = File.read("/proc/self/task/#{tid}/syscall").split
          new(Integer(call), numbers.map(&:hex)) if call.match?(/\A\d/)
        rescue Errno::EACCES, Errno::EPERM, Errno::ENOENT
          nil # Hidden, or not in this kernel.
        end

        # The memory of Ruby itself: its program, its library, the zeroed pages that follow each.
        #
        #: () -> Array[Range[Integer]]
        def self.ruby_memory
          files = [File.readlink("/proc/self/exe").b, RbConfig::CONFIG["LIBRUBY_SO"]]
          edge = nil
          File.foreach("/proc/self/maps", mode: "rb").filter_map do |line|
            span, _rights, _offset, _device, _inode, path = line.chomp.split(" ", 6)
            first, last = span.split("-").map(&:hex)
            ours = path.to_s.empty? ? first == edge : path.end_with?(*files)
            (edge = last) && (first...last) if ours
          end
        end

        # `numbers` are the call's six arguments, the stack pointer and the program counter.
        #
        #: (Integer call, Array[Integer] numbers) -> void
        def initialize(call, numbers)
          @call = call
          @numbers = numbers
        end

        # For a condition that lies on its own stack, with a deadline that does so too.
        #
        #: () -> bool
        def kept?
          word, _, _, deadline, _, _, stack = @numbers
          innermost = stack..(stack + INNERMOST)
          KEPT && FUTEX.include?(@call) && innermost.cover?(word) && innermost.cover?(deadline)
        end

        # For events to be put into Ruby's own memory, or for a lock there.
        #
        #: () -> bool
        def timer?
          word, events = @numbers
          address = word if FUTEX.include?(@call)
          address = events if EPOLL.include?(@call)
          !address.nil? && self.class.ruby_memory.any? { |span| span.cover?(address) }
        end
      end
      private_constant :BlockedOn
    end
  end
end
