# frozen_string_literal: true

require "rbconfig"

module Skep
  module Fork
    # A native thread of this process, as Linux lists it.
    #
    #   NativeThread.strangers.map(&:name)   # => ["rdk:main", "rdk:broker1"], nothing of Ruby's own
    #   thread.tid                           # its number
    #
    # Thread#native_thread_id tells which belong to Ruby's threads, once these have run: one made
    # just now has no number, and the newest task that bears a Ruby thread's name passes for it.
    # Ruby has more threads, that no Thread stands for: a timer (3.3 on), and ended ones, kept a
    # while for the next Thread.new (up to 3.2). Both are known by what they wait for; one that is
    # running can't be asked, and passes for Ruby's if it bears the name of a Ruby thread, as all do
    # that were never given one. A name that only Ruby gives ("app.rb:12") is always taken for
    # Ruby's, so a library whose nameless threads were made in such a thread goes unseen.
    # Source: proc(5), /proc/pid/task, /proc/pid/syscall, /proc/pid/maps.
    class NativeThread
      FOLDER = "/proc/self/task"
      KEPT = RUBY_VERSION < "3.3"
      STACK = 4096 # A kept thread's wait lies in the innermost frames of its stack.
      RUBY_NAME = /\Askep\.|.:\d+\*?\z/ # By its maker's file and line; cut short it ends in a star.
      private_constant :FOLDER, :KEPT, :STACK, :RUBY_NAME

      attr_reader :tid  #: Integer
      attr_reader :name #: String

      # Those that aren't Ruby's. The list is read before Ruby's: a thread made between isn't in it.
      #
      #: () -> Array[NativeThread]
      def self.strangers
        tids = Dir.children(FOLDER).map(&:to_i)
        numbers = Thread.list.map(&:native_thread_id)
        numbers << Process.pid # Of a forked child's main thread Ruby 3.1 gives its parent's number.
        names = all(tids & numbers).map(&:name) + Thread.list.filter_map(&:name)
        others = all(tids - numbers)
        unborn = others.select { |thread| thread.named_as?(names) }.last(numbers.count(nil))
        (others - unborn).reject { |thread| thread.ruby?(names) }
      rescue Errno::ENOENT
        [] # No /proc: not Linux.
      end

      # Those of the numbers that are still there, oldest first.
      #
      #: (Array[Integer] tids) -> Array[NativeThread]
      def self.all(tids)
        tids.sort.filter_map do |tid|
          new(tid)
        rescue Errno::ENOENT, Errno::ESRCH
          nil # It has ended since.
        end
      end

      # The memory of Ruby itself: its program, its library, and the zeroed pages that follow each.
      #
      #: () -> Array[Range[Integer]]
      def self.image
        files = [File.readlink("/proc/self/exe"), RbConfig::CONFIG["LIBRUBY_SO"]]
        edge = nil
        File.foreach("/proc/self/maps").filter_map do |line|
          span, _rights, _offset, _device, _inode, path = line.chomp.split(" ", 6)
          first, last = span.split("-").map(&:hex)
          ours = path.to_s.empty? ? first == edge : path.end_with?(*files)
          (edge = last) && (first...last) if ours
        end
      end

      #: (Integer tid) -> void
      def initialize(tid)
        @tid = tid
        @name = File.read("#{FOLDER}/#{tid}/comm").chomp.scrub
        @wait = waiting
      end

      # Is it one that Ruby keeps for itself? `names` are those of Ruby's threads.
      #
      #: (Array[String] names) -> bool
      def ruby?(names)
        name.match?(RUBY_NAME) || (@wait ? kept? || timer? : named_as?(names))
      end

      # Is it named like one of Ruby's? Linux keeps 15 bytes of a name.
      #
      #: (Array[String] names) -> bool
      def named_as?(names)
        name.match?(RUBY_NAME) || names.any? { |ours| ours.byteslice(0, 15).scrub == name }
      end

      #: () -> String
      def inspect = "#<#{self.class} #{tid} #{name}>"

      private

      # The numbers of the system call it waits in: six arguments, the stack pointer, the program
      # counter. nil while it runs, and where the kernel doesn't say.
      #
      #: () -> Array[Integer]?
      def waiting
        call, *numbers = File.read("#{FOLDER}/#{tid}/syscall").split
        numbers.map(&:hex) if call.match?(/\A\d/)
      rescue Errno::EACCES, Errno::EPERM, Errno::ENOENT
        nil
      end

      # Waits for a condition that lies on its own stack, futex(2)'s first argument, with a
      # deadline, its fourth.
      #
      #: () -> bool
      def kept?
        stack = @wait[6]..(@wait[6] + STACK)
        KEPT && stack.cover?(@wait[0]) && stack.cover?(@wait[3])
      end

      # Waits for a lock of Ruby's own memory, or for events to be put there, epoll_wait(2)'s second
      # argument.
      #
      #: () -> bool
      def timer? = self.class.image.any? { |span| span.cover?(@wait[0]) || span.cover?(@wait[1]) }
    end
  end
end
