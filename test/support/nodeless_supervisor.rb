# frozen_string_literal: true

# What a control server asks of a supervisor, here of one without nodes. asked: called for each
# status that is requested.
NodelessSupervisor = Struct.new(:loop, :config, :asked) do
  def abstract_lock = nil
  def events = @events ||= Skep::Swarm::Runtime::EventBus.new

  def snapshot
    asked.call
    { name: "a", pid: Process.pid, state: "running", uptime: 1, nodes: [] }
  end
end
