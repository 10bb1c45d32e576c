# frozen_string_literal: true

module Skep
  module Fork
    # A native thread of this process, as Linux lists it.
    #
    #   NativeThread.strangers.map(&:name)   # => ["rdk:main", "rdk:broker1"], nothing of Ruby's own
    #   thread.tid                           # its number
    #
    # Thread#native_thread_id tells which belong to Ruby's threads, once these have run: one made
    # just now has no number, and another task passes for it, one with a Ruby thread's name first.
    # Ruby has more threads, that no Thread stands for: a timer (3.3 on), and ended ones, kept a
    # while for the next Thread.new (up to 3.2). Both are known by what they wait for; one that is
    # running can't be asked, and passes for Ruby's if it bears the name of a Ruby thread, as all do
    # that were never given one. A name that only Ruby gives ("app.rb:12") is always taken for
    # Ruby's, so a library whose nameless threads were made in such a thread goes unseen. A Ruby
    # thread with a name that ended this very moment may pass for a stranger.
    # Source: proc(5), /proc/pid/task.
    class NativeThread
      FOLDER = "/proc/self/task"
      RUBY_NAME = /\Askep\.|.:\d+\z|\*\z/ # Its maker's file and line, by a star where cut short.
      private_constant :FOLDER, :RUBY_NAME

      attr_reader :tid  #: Integer
      attr_reader :name #: String

      # Those that aren't Ruby's. Ruby is asked before and after: threads come and go meanwhile.
      #
      #: () -> Array[NativeThread]
      def self.strangers
        before = Thread.list.map(&:native_thread_id)
        threads = all
        born, unborn = Thread.list.partition(&:native_thread_id)
        # Of a forked child's main thread Ruby 3.1 gives its parent's number: it has its process'.
        numbers = [Process.pid, *before, *born.map(&:native_thread_id)]
        rubys, others = threads.partition { |thread| numbers.include?(thread.tid) }
        names = [*rubys.map(&:name), *unborn.filter_map(&:name)]
        others.reject! { |thread| thread.ruby?(names) }
        others.sort_by { |thread| thread.named_as?(names) ? 0 : 1 }.drop(unborn.size)
      end

      # All of this process; none where there is no /proc.
      #
      #: () -> Array[NativeThread]
      def self.all
        Dir.children(FOLDER).map(&:to_i).sort.filter_map do |tid|
          new(tid)
        rescue Errno::ENOENT, Errno::ESRCH
          nil # It has ended since.
        end
      rescue Errno::ENOENT
        [] # Not Linux.
      end

      #: (Integer tid) -> void
      def initialize(tid)
        @tid = tid
        @name = File.read("#{FOLDER}/#{tid}/comm").chomp.scrub
        @wait = BlockedOn.of(tid)
      end

      # Is it one that Ruby keeps for itself? `names` are those of Ruby's threads.
      #
      #: (Array[String] names) -> bool
      def ruby?(names)
        name.match?(RUBY_NAME) || (@wait ? @wait.kept? || @wait.timer? : named_as?(names))
      end

      # Is it named like one of Ruby's? Linux keeps 15 bytes of a name.
      #
      #: (Array[String] names) -> bool
      def named_as?(names)
        name.match?(RUBY_NAME) || names.any? { |ours| ours.byteslice(0, 15).scrub == name }
      end

      #: () -> String
      def inspect = "#<#{self.class} #{tid} #{name}>"
    end
    private_constant :NativeThread
  end
end
