# frozen_string_literal: true

require "delegate"

# Every message between the processes of a swarm: its direction, its fields with the rule for each,
# and the descriptor it carries. docs/internals/messages.md is made from these tables.
#
#   Messages::FROM_NODE.incoming(frame)   # => the frame with checked fields, or raises Invalid
#   Messages::FROM_NODE.outgoing("event", fields, "event")  # => fields as plain data, or raises
#                                         # ArgumentError, whose backtrace begins at the caller
#   Messages.whole(3, "processed takes")      # the same for what a node writes to the page
#
# The receiver checks every message before anything acts on it or keeps it. What a user's code
# passes to `node` is checked there, too, so that a wrong value raises in the user's own line.
#
# Text is made valid UTF-8 and cut at 16 KiB, facts become plain data (PlainData). A field that
# isn't in the table is left out. A type that isn't in the table is invalid.
module Skep
  class Swarm
    module IPC
      class Messages
        YEARS = 3.2e9 # seconds
        DELEGATOR = Delegator.instance_method(:method_missing).source_location.first
        OURS = ["#{File.dirname(__dir__)}/", "<internal:", DELEGATOR].freeze
        Field = PlainData::Field
        private_constant :YEARS, :DELEGATOR, :OURS, :Field

        # The other process has sent something that the table doesn't allow.
        class Invalid < Channel::ProtocolError
        end

        # One type of message. fields: the rule of each, by name. descriptor: what its file
        # descriptor is, if it carries one. role: the only nodes that it makes sense for, "spare" or
        # "helper", for the documentation; the receiving method checks that (NodePool#spare_ready).
        Row = Struct.new(:meaning, :fields, :descriptor, :role)

        class << self
          # Returns a text, or nil.
          def text(value, what)
            case value
            when nil then nil
            when String then PlainData.text(value)
            when Symbol, Integer then PlainData.text(value.to_s)
            else refuse("#{what} a String or nil, not #{PlainData.shown(value)}")
            end
          end

          # Returns an integer from 0 on.
          def whole(value, what, most: Field::MOST)
            return value if Integer === value && value.between?(0, most)

            refuse("#{what} an Integer from 0 to #{most}, not #{PlainData.shown(value)}")
          end

          # Returns seconds, at most a century.
          def seconds(value, what)
            number = Numeric === value && value.real? ? value.to_f : Float::NAN
            return number.clamp(-YEARS, YEARS) if number.finite?

            refuse("#{what} a finite number of seconds, not #{PlainData.shown(value)}")
          end

          # Raises ArgumentError in the line that called skep.
          def refuse(sentence)
            raise ArgumentError, sentence, caller.drop_while { |line| line.start_with?(*OURS) }
          end

          private

          def row(meaning, descriptor: nil, role: nil, **fields)
            Row.new(meaning, fields.freeze, descriptor, role).freeze
          end
        end

        attr_reader :from # the role of the sender
        attr_reader :to # the role of the receiver
        attr_reader :rows # by type

        def initialize(from, to, rows)
          @from, @to = from, to
          @rows = rows.freeze
        end

        def types = @rows.keys

        # what: how the caller knows the message, for the error.
        def outgoing(type, fields, what)
          check(type, fields)
        rescue Invalid => e
          Messages.refuse("#{what}: #{e.message}")
        end

        def incoming(frame)
          Channel::Message.new(frame.type, check(frame.type, frame.facts), frame.ios, frame.bytes)
        end

        def valid?(type, fields)
          check(type, fields) ? true : false
        rescue Invalid
          false
        end

        private

        def check(type, fields)
          row = @rows.fetch(type) do
            raise Invalid, "there is no message #{PlainData.shown(type)}"
          end
          row.fields.to_h { |name, field| [name, field.of(fields[name], name)] }
        rescue PlainData::Refused => e
          raise Invalid, e.message
        end

        TO_MOLD = new(
          "supervisor", "mold",
          "load" => row("loads the swarm's file", "mold" => Field::WHOLE,
                                                  "supervisor" => Field::WHOLE),
          "prepare" => row("preloads the application and warms it up", "options" => Field::HASH,
                           "nodes" => Field::WHOLE, "threads" => Field::WHOLE,
                           descriptor: "the scoreboard's page"),
          "fork" => row("forks a node, a spare or the helper", "page_index" => Field::WHOLE,
                        "node" => Field::WHOLE.or_nil, "task" => Field::WHOLE.or_nil,
                        "spare" => Field::FLAG.or_nil, "mold" => Field::WHOLE,
                        "placed" => Field::FLAG, "suspects" => Field::SUSPECT_LIST,
                        descriptor: "the node's channel"),
          "ping" => row("answers `pong`"),
          "leave" => row("ends when its channel closes, without waiting for its nodes")
        )

        FROM_MOLD = new(
          "mold", "supervisor",
          "loaded" => row("has loaded the file, with this in it", "name" => Field::TEXT,
                          "options" => Field::FACTS, "tasks" => Field::TASK_LIST,
                          "events" => Field::NAME_LIST),
          "refused" => row("can't load or prepare", "sentence" => Field::TEXT,
                                                    "exit_code" => Field::WHOLE.or_nil),
          "ready" => row("is warm and can fork", "seconds" => Field::SECONDS,
                         "findings" => Field::LINE_LIST, "warmup" => Field::FACTS,
                         "passes_on" => Field::FLAG.or_nil, "slots" => Field::WHOLE),
          "pong" => row("is alive"),
          "forked" => row("has forked a node", "page_index" => Field::WHOLE,
                                               "pid" => Field::WHOLE, descriptor: "the pidfd"),
          "preforked_stuck" => row("has killed a process forked ahead that gave no sign of life",
                                   "pid" => Field::WHOLE),
          "fork_failed" => row("couldn't fork; an empty slot is tried again",
                               "page_index" => Field::WHOLE, "error" => Field::TEXT),
          "exited" => row("has reaped a node", "page_index" => Field::WHOLE,
                          "pid" => Field::WHOLE, "exit_status" => Field::WHOLE.or_nil,
                          "signal" => Field::TEXT.or_nil)
        )

        TO_NODE = new(
          "supervisor", "node",
          "stop" => row("ends its work; for good: no node follows it; all: the swarm stops",
                        "scaling_down" => Field::FLAG, "all" => Field::FLAG.or_nil),
          "all_finished" => row("all nodes with its kind of work have said `finished`, or ended"),
          "quiet" => row("takes no new work"),
          "resume" => row("takes new work again"),
          "place" => row("is the only process in its slot from here on"),
          "suspects" => row("learns what other nodes had in flight when they crashed",
                            "added" => Field::SUSPECT_LIST.or_nil,
                            "dropped" => Field::ITEM_LIST.or_nil),
          "become_mold" => row("ends its work and becomes that mold", "mold" => Field::WHOLE,
                               descriptor: "the mold's channel"),
          "backtraces" => row("reports its backtraces; hung: it is considered hung",
                              "hung" => Field::FLAG.or_nil),
          "measure" => row("measures its memory now"),
          "chaos" => row("hangs or leaks, for `skep chaos`", "order" => Field::TEXT,
                                                             "bytes" => Field::WHOLE.or_nil),
          "step_in" => row("takes this slot", "node" => Field::WHOLE, "task" => Field::WHOLE,
                                                 role: "spare"),
          "event" => row("runs the blocks for this event", "name" => Field::TEXT,
                         "facts" => Field::HASH, "level" => Field::TEXT.or_nil, role: "helper"),
          "serve" => row("serves the clients that come over this socket", role: "helper",
                         descriptor: "the socket that the supervisor passes connections over"),
          "answer" => row("gets the answer to `ask`", "number" => Field::WHOLE,
                                                 "status" => Field::HASH, role: "helper")
        )

        FROM_NODE = new(
          "node", "supervisor",
          "ready" => row("has booted and can work"),
          "warm" => row("has done `refork_after` items"),
          "leaving" => row("has begun to stop"),
          "finished" => row("has done its work as the swarm stops; waits for `all_finished`"),
          "event" => row("its work has called `node.event`", "name" => Field::NAME, "level" => Field::LEVEL,
                                          "facts" => Field::FACTS),
          "work" => row("its work has called `node.work=`", "facts" => Field::WORK),
          "assigned" => row("its work has called `node.assigned!`", "assigned" => Field::FLAG,
                                                                 "facts" => Field::FACTS),
          "unhealthy" => row("its work has called `node.unhealthy!`", "reason" => Field::TEXT),
          "healthy" => row("its work has called `node.healthy!`"),
          "failed" => row("its boot or its work raised", "sentence" => Field::TEXT,
                          "at" => Field::TEXT.or_nil,
                          "backtrace" => Field::LINE_LIST.or_nil, "refused" => Field::FLAG.or_nil,
                          "exit_code" => Field::WHOLE.or_nil),
          "suspects_resolved" => row("has done these items; blamed: they caused the crashes",
                          "suspects" => Field::ITEM_LIST, "blamed" => Field::FLAG),
          "backtraces" => row("sends its threads, while it is considered hung",
                              "threads" => Field::THREAD_LIST),
          "became_mold" => row("is a mold from here on"),
          "unfit" => row("can't become a mold", "sentence" => Field::TEXT),
          "spare" => row("has booted and waits for a slot", role: "spare"),
          "stepped_in" => row("has taken the slot and begins its work", role: "spare"),
          "ask" => row("asks for the swarm's status", "number" => Field::WHOLE, role: "helper")
        )

        ALL = [TO_MOLD, FROM_MOLD, TO_NODE, FROM_NODE].freeze
      end
    end
  end
end
