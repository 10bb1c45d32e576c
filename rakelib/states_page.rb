# frozen_string_literal: true

require "skep/swarm"

# docs/internals/states.md, generated from the tables of Skep::Swarm::Nodes::SlotPolicy, and the
# TRANSITIONS of the classes that include Skep::Swarm::Runtime::StateMachine.
module StatesPage
  PATH = File.expand_path("../docs/internals/states.md", __dir__)
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  module_function

  def text
    [<<~HEAD, policy, <<~MACHINES, *machines.map { |machine| section(machine) }].join("\n")
      # States

      `rake states` writes this page from the code.

      ## What is done for a slot

      `skep/lib/skep/swarm/nodes/slot_policy.rb`

      A slot is a record of facts. After each fact, and at its next deadline, `NodePool#reconcile` asks `SlotPolicy.next` what is to be done, and does it. No harm is done if a fact comes late or twice, or if a look is missed: the next look finds what is to be done.

      | what happens | is only a fact |
      |---|---|
      | a crash, a clean exit, a refusal | the slot is empty; `RestartPolicy` says not before when, or that its work is done |
      | a restart, a reload, a refork | the slots want a newer generation; if there is a new mold, one slot wants it first |
      | a reload or a refork that is rolled back | the slot of the first node wants the old generation again |
      | memory limit, memory budget, lifetime | a reason of the process to be replaced |
      | a scale-down, finished work, a stop | the slot wants no process |
      | a spare | a process that `launch` may take |
      | a fork that the system refuses | the budget has no room until its backoff is over (`ForkBackoff`) |
      | `boot_concurrency`, one replacement at a time | the budget (`Budget`) |
    HEAD
      ## State machines

      A state changes only as these tables say; any other event raises `StateMachine::Impossible`.
      A row is a state, a column an event, and a cell the next state. If a cell is empty, the event cannot happen in that state.

      An event is a method of the class in the heading, or a step of such a method. The comments in the named file describe it.
    MACHINES
  end

  # The tables of SlotPolicy.
  def policy
    policy = Skep::Swarm::Nodes::SlotPolicy
    [table("process", "the slot wants", policy::ALONE),
     table("process", "its successor is", policy::WITH_SUCCESSOR), <<~NOTES].join("\n")
      A process is *in use* until it is asked to stop or has ended. It is *stopped now* if its memory was needed before a successor could boot, and *ending* if it was asked to stop for another reason, ends on its own, or has ended and its exit isn't recorded yet. A *rejected* successor is of a mold that was rolled back.

      Before these tables, a process that hasn't ended within its grace period is killed. `launch` waits until `not_before`, and then for the budget. Of a slot that wants no process, both processes are stopped.
    NOTES
  end

  def table(first, columns, table)
    names = table.values.first.keys
    rows = table.map do |name, row|
      cells = names.map { |one| row[one] == :wait ? "" : "`#{row[one]}`" }
      "| #{["**#{words(name)}**", *cells].join(" | ")} |\n"
    end
    heads = names.map { |name| "#{columns} #{words(name)}" }
    "| #{[first, *heads].join(" | ")} |\n|---|#{"---|" * names.size}\n#{rows.join}"
  end

  def words(name)
    { one: "one", new: "a new one", none: "none" }.fetch(name) { name.to_s.tr("_", " ") }
  end

  def machines
    machine = Skep::Swarm::Runtime::StateMachine
    ObjectSpace.each_object(Class).select do |one|
      one.include?(machine) && one.const_defined?(:TRANSITIONS, false)
    end.sort_by(&:name)
  end

  def section(machine)
    table = machine::TRANSITIONS
    events = table.values.flat_map(&:keys).uniq
    rows = table.map do |state, row|
      "| #{["**#{state}**", *events.map { |event| row[event] }].join(" | ")} |\n"
    end
    <<~TEXT + rows.join
      ### #{machine.name.delete_prefix("Skep::Swarm::")}

      `#{file_of(machine)}`

      | state | #{events.join(" | ")} |
      |---|#{"---|" * events.size}
    TEXT
  end

  def file_of(machine)
    file, = Object.const_source_location("#{machine.name}::TRANSITIONS")
    File.expand_path(file).delete_prefix("#{ROOT}/")
  end
end
