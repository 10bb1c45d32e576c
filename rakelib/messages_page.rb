# frozen_string_literal: true

require "skep/swarm"

# docs/internals/messages.md, generated from the tables of Skep::Swarm::IPC::Messages.
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
      # Messages

      `rake messages` writes this page from `skep/lib/skep/swarm/ipc/messages.rb`. A message is a length-prefixed frame of JSON.
      If its row names a descriptor, the message carries that file descriptor (SCM_RIGHTS).

      The receiver checks the type and each field before it acts on a message. skep replaces a node that sends anything else, and restarts such a mold.
      A process that receives anything else from the supervisor ends. The subject of each meaning is the mold, the node, the spare or the helper.
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
    fields = row.fields.map { |name, field| "`#{name}: #{field.wanted.sub(/\Aan? /, "")}`" }
    "| `#{type}` | #{row.meaning} | #{fields.join("<br>")} | #{row.descriptor} |"
  end
end
