# frozen_string_literal: true

require "skep/swarm"

# docs/internals/states.md, generated from the TRANSITIONS of the classes that include
# Skep::Swarm::Runtime::StateMachine.
module StatesPage
  PATH = File.expand_path("../docs/internals/states.md", __dir__)
  LIB = File.expand_path("../lib", __dir__)
  private_constant :LIB

  module_function

  def text
    [<<~HEAD, *machines.map { |machine| section(machine) }].join("\n")
      # States

      `rake states` writes this page from the code. A state changes only as these tables say; any other event raises `StateMachine::Impossible`.
      A row is a state, a column an event, and a cell the next state. If a cell is empty, the event cannot happen in that state.

      An event is a method of the class in the heading, or a step of such a method. The comments in the named file describe it.
    HEAD
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
      ## #{machine.name.delete_prefix("Skep::Swarm::")}

      `#{file_of(machine)}`

      | state | #{events.join(" | ")} |
      |---|#{"---|" * events.size}
    TEXT
  end

  def file_of(machine)
    file, = Object.const_source_location("#{machine.name}::TRANSITIONS")
    "lib#{File.expand_path(file).delete_prefix(LIB)}"
  end
end
