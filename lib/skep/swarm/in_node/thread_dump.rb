# frozen_string_literal: true

# Where the threads of this process are, as plain data: what a node says when it is asked.
#
#   ThreadDump.all   # => [{ "thread" => "main", "tid" => 42, "status" => "run", "backtrace" => … }]
#
# tid is the kernel's number of the thread, by which OS::ProcessState knows it (Ruby 3.1).
module Skep
  class Swarm
    module InNode
      module ThreadDump
        MOST = 100
        DEEPEST = 100 # lines, of which the innermost are kept
        LETTERS = 190 # of a line, of which the last are kept: the line's number and the method
        BIRTH = File.expand_path("node_main.rb", __dir__)
        private_constant :MOST, :DEEPEST, :LETTERS, :BIRTH

        module_function

        #: (?Array[Thread]) -> Array[Hash[String, untyped]]
        def all(threads = Thread.list) = threads.first(MOST).map { |thread| of(thread) }

        def of(thread) #: (Thread) -> Hash[String, untyped]
          { "thread" => name(thread), "tid" => tid(thread), "status" => thread.status.to_s,
            "backtrace" => own(thread.backtrace || []).first(DEEPEST).map { |line| line(line) } }
        end

        def name(thread) = thread == Thread.main ? "main" : thread.name || thread.inspect

        # Ruby 3.1 remembers the main thread's number from before the fork.
        def tid(thread) = thread == Thread.main ? Process.pid : thread.native_thread_id

        def line(line) = line.size > LETTERS ? line[-LETTERS..] : line

        # Without what lies under the node's own life: how its mold came to fork it.
        def own(backtrace)
          birth = backtrace.rindex { |line| line.start_with?(BIRTH) && line.end_with?("live'") }
          birth ? backtrace.first(birth) : backtrace
        end
        private_class_method :name, :tid, :line, :own
      end
    end
  end
end
