# frozen_string_literal: true

require "test_helper"
require "socket"
require "stringio"
require "skep/cli"

# `skep stop` with a child process in place of the supervisor.
class StopCommandTest < Skep::TestCase
  STATUS = { name: "plain", state: "running", uptime: 1.0, skep: "1", ruby: "3", nodes: [] }.freeze
  FOLLOWS = { follow: { seq: 1 } }.freeze
  private_constant :STATUS, :FOLLOWS

  test "reports a stop at which a node was killed, and exits with the same code" do
    assert_equal [2, "", "skep: plain: a node was killed during the stop (exit code 2)\n"],
                 stop(exit_code: 2)
  end

  test "prints what was done after any other stop, with the exit code if it is known" do
    assert_equal [0, "plain has stopped, exit code 0\n", ""], stop(exit_code: 0)
    assert_equal [0, "plain has stopped\n", ""], stop(exit_code: nil)
    assert_equal [0, "plain has stopped\n", ""],
                 stop(exit_code: 2, follows: { error: "8 clients follow already" })
    assert_equal [0, "stopping\n", ""], stop("--no-wait", exit_code: 2)
  end

  test "names the nodes that failed during the stop, and not those before" do
    died = [{ event: "node_died", node: 0, signal: "KILL" }, { event: "swarm_stopping" },
            { event: "node_died", node: 1, exit_status: 1 },
            { event: "node_died", node: "\e2", signal: "SEGV", reason: "crash" }]
    assert_equal [0, "plain has stopped, exit code 0\n",
                  "skep: plain: failed while it stopped: node 1 (exit status 1), node ^[2 " \
                  "(SIGSEGV crash); node_failed and node_died in the log say how\n"],
                 stop(exit_code: 0, died:)
  end

  private

  def stop(*words, exit_code:, follows: FOLLOWS, died: [])
    Dir.mktmpdir do |directory|
      path = "#{directory}/a.sock"
      pid, reader = in_child do |writer|
        server = UNIXServer.new(path) # its peers see this process
        writer.puts
        serve(server, exit_code, follows, died)
      end
      wait_readable(reader).gets
      out, err = StringIO.new, StringIO.new
      code = Skep::CLI.start(["stop", "--control", path, *words], out:, err:)
      Process.wait(pid) if words.any? # otherwise the command has reaped it
      [code, out.string, err.string]
    end
  end

  # Answers until it is stopped. Then it ends, with its last event before that.
  def serve(server, exit_code, follows, died)
    command = follower = nil
    until command == "stop"
      server.wait_readable(Patience.of(20)) or return
      client = server.accept
      command = JSON.parse(client.gets)["command"]
      reply(client, { "status" => { status: { **STATUS, pid: Process.pid } },
                      "follow" => follows, "stop" => { done: "stop" } }.fetch(command))
      command == "follow" ? follower = client : client.close
    end
    return unless follower && follows == FOLLOWS

    events = [*died, { event: "swarm_stopped", exit_code: }]
    events.each.with_index(2) do |event, seq|
      reply(follower, { seq:, swarm: "plain", level: "info", **event })
    end
  end

  def reply(client, facts) = client.puts(Skep::Control.line(**facts))
end
