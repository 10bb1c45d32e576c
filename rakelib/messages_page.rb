# frozen_string_literal: true

require "skep/swarm"

# docs/internals/messages.md, as it follows from the tables of Skep::Swarm::IPC::Messages.
module MessagesPage
  PATH = File.expand_path("../docs/internals/messages.md", __dir__)
  Messages = Skep::Swarm::IPC::Messages
  private_constant :Messages

  module_function

  def text
    sections = Messages::ALL.flat_map do |table|
      table.rows.group_by { |_, row| row.role }.map { |role, rows| section(table, role, rows) }
    end
    [<<~HEAD, *sections].join("\n")
      # Which messages do the processes send each other?

      `rake messages` writes this page from `lib/skep/swarm/ipc/messages.rb`. A message is a frame of JSON with its length before it, and a file descriptor beside it (SCM_RIGHTS) where the table has one.
      The receiver checks the type and each field before it acts on a message. A node that sends anything else is replaced, a mold is restarted, and a process that gets it from the supervisor ends.
      The subject of each meaning is the mold, the node, the spare or the helper.
    HEAD
  end

  def section(table, role, rows)
    ways = [table.from, table.to].map { |one| one == "node" && role ? role : one }
    [<<~HEAD, *rows.map { |type, row| "#{row_of(type, row)}\n" }].join
      ## From #{ways[0]} to #{ways[1]}

      | message | meaning | fields | descriptor |
      |---|---|---|---|
    HEAD
  end

  def row_of(type, row)
    fields = row.fields.map { |name, field| "`#{name}`: #{field.wanted}" }.join("<br>")
    "| `#{type}` | #{row.meaning} | #{fields} | #{row.descriptor} |"
  end
end
