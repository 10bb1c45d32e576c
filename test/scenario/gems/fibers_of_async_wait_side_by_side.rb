# frozen_string_literal: true

# Under async's scheduler a task that waits for an inbox, a pool, a background's close, a pidfd or a
# node's stop blocks no other task.
require_relative "../scenario"

Scenario.play do
  skip "async requires Ruby 3.3 or newer" if RUBY_VERSION < "3.3"
  begin
    require "async"
  rescue LoadError
    missing "async: bin/setup scenario"
  end

  inbox = Skep::Threads::Inbox.new
  pool = Skep::Threads::Pool.new(2)
  worker = Skep::Threads::Background.new("patient") { |own| own.each { inbox.pop(timeout: 10) } }
  worker.push(1)
  layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 0)
  node = Skep::Swarm::Node.new(id: 0, swarm: "async", mold: 0, layout:, report: ->(*) {},
                                 page: Skep::OS::SharedPage.create(layout.total))
  gate, opener = IO.pipe
  pid = fork { opener.close || gate.read || exit!(3) }
  pidfd = Skep.pidfd(pid)
  order = Thread::Queue.new

  waits = [-> { pool.run([1, 2]) { |n| [n, inbox.pop(timeout: 10)] }.map(&:first) },
           -> { worker.close(timeout: 10) },
           -> { pidfd.wait(timeout: 10)&.pid },
           -> { node.wait(10) },
           -> { inbox.pop(timeout: 0.05) || :late }]
  results = Async do |task|
    tasks = waits.map { |wait| task.async { wait.call.tap { order << :waited } } }
    task.async do
      order << :worked
      opener.close
      node.__stop
      tasks.last.wait
      3.times { inbox.push(:go) }
    end
    tasks.map(&:wait)
  end.wait

  must("run the last task while all others wait") { order.pop == :worked }
  must("return to each task what it waited for: #{results}") do
    results == [[1, 2], true, pid, true, :late]
  end
  must("close the pool") { pool.close(timeout: 5) }
  pidfd.close
end
