# frozen_string_literal: true

# The backtraces of this process' threads, as plain data.
#
#   ThreadDump.all   # => [{ "name" => "main", "tid" => 42, "status" => "run",
#                    #       "backtrace" => […] }]
#
# tid is the kernel's number of the thread, by which OS::ProcessState finds it (Ruby 3.1).
module Skep
  class Swarm
    module Processes
      module ThreadDump
        MOST = 100
        DEEPEST = 100 # lines, of which the innermost are kept
        LETTERS = 190 # of a line, of which the last are kept: the line's number and the method
        BIRTH = File.expand_path("node_main.rb", __dir__)
        private_constant :MOST, :DEEPEST, :LETTERS, :BIRTH

        module_function

        def all(threads = Thread.list) = threads.first(MOST).map { |thread| of(thread) }

        def of(thread)
          { "name" => name(thread), "tid" => tid(thread), "status" => thread.status.to_s,
            "backtrace" => own(thread.backtrace || []).first(DEEPEST).map { |line| line(line) } }
        end

        def name(thread) = thread == Thread.main ? "main" : thread.name || thread.inspect

        # Ruby 3.1 remembers the main thread's number from before the fork.
        def tid(thread) = thread == Thread.main ? Process.pid : thread.native_thread_id

        def line(line) = line.size > LETTERS ? line[-LETTERS..] : line

        # Without the lines below NodeMain#run: how the mold came to fork the node.
        def own(backtrace)
          birth = backtrace.rindex { |line| line.start_with?(BIRTH) && line.end_with?("run'") }
          birth ? backtrace.first(birth) : backtrace
        end
        private_class_method :name, :tid, :line, :own
      end
    end
  end
end
