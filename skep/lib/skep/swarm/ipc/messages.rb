# frozen_string_literal: true

# Every message between the processes of a swarm: its direction, its type, what it carries.
# docs/internals/messages.md is made from these tables.
#
#   Messages::FROM_NODE.check(frame)   # => the frame, or raises Invalid
#
# Connection checks each message before its handler gets it: the type must be in the table, and each
# field of the class that the handler expects. What a user's code passes to a node is checked at its
# call (Arguments).
module Skep
  class Swarm
    module IPC
      class Messages
        # The other process has sent something that isn't in the table.
        class Invalid < Channel::ProtocolError
        end

        # What a field must be, in words for the page, and a rule for `===`.
        Field = Struct.new(:wanted, :rule) do
          def or_nil = Field.new("#{wanted}, or nil", ->(value) { value.nil? || rule === value })
        end

        # One type of message. fields: each Field by its name. descriptor: what its file descriptor
        # is, if it carries one. role: the only nodes that it makes sense for, "spare" or "helper",
        # for the documentation; the receiving method checks that (NodePool#spare_ready).
        Row = Struct.new(:meaning, :fields, :descriptor, :role)

        LEVELS = %w[debug info warn error].freeze

        class Field
          WHOLE = new("an Integer from 0 on",
                      ->(value) { value.is_a?(Integer) && value.between?(0, Arguments::MOST) })
          FLAG = new("true or false", ->(value) { [true, false].include?(value) })
          SECONDS = new("a number of seconds",
                        ->(value) { value.is_a?(Numeric) && value.between?(0, 10**18) })
          TEXT = new("a String", String)
          NAME = new("a String of 1 to 200 bytes",
                     ->(value) { value.is_a?(String) && value.bytesize.between?(1, 200) })
          LEVEL = new("debug, info, warn or error", ->(value) { LEVELS.include?(value) })
          HASH = new("a Hash", Hash)
          WORK = new("a Hash with valid sums", ->(value) { WorkFacts.fault(value).nil? })

          def self.list(wanted, &rule)
            new("an Array of #{wanted}", ->(value) { value.is_a?(Array) && value.all?(&rule) })
          end

          LINE_LIST = list("Strings") { |line| line.is_a?(String) }
          TASK_LIST = list("Hashes") { |task| task.is_a?(Hash) }
          THREAD_LIST = list("threads") do |thread|
            thread.is_a?(Hash) && thread["name"].is_a?(String) &&
              LINE_LIST.rule === thread["backtrace"]
          end
          THREAD_LINE_LIST = list("[thread, line]") do |pair|
            pair.is_a?(Array) && pair.size == 2 && WHOLE.rule === pair.first &&
              pair.last.is_a?(String)
          end
          ITEM_LIST = list("[in_flight, current_item]") do |item|
            item.is_a?(Array) && item.size == 2 && item.first.is_a?(String) &&
              WHOLE.or_nil.rule === item.last
          end
          SUSPECT_LIST = list("suspects") { |suspect| suspect.is_a?(Hash) }
        end

        class << self
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

        def check(frame)
          fault = fault(frame.type, frame.facts)
          fault ? raise(Invalid, fault) : frame
        end

        # Returns what is wrong with a message, in words, or nil.
        def fault(type, facts)
          row = @rows[type] or return "there is no message #{PlainData.shown(type)}"
          name, field = row.fields.find { |key, kind| !(kind.rule === facts[key]) }
          return unless name

          "#{name} must be #{field.wanted}, not #{PlainData.shown(facts[name])}"
        end

        TO_MOLD = new(
          "supervisor", "mold",
          "load" => row("loads the swarm's file", "mold" => Field::WHOLE,
                                                  "supervisor" => Field::WHOLE),
          "prepare" => row("preloads the application and warms it up", "options" => Field::HASH,
                           "works" => Field::TASK_LIST, "nodes" => Field::WHOLE,
                           "threads" => Field::WHOLE, descriptor: "the scoreboard's page"),
          "fork" => row("forks a node, a spare or the helper", "page_index" => Field::WHOLE,
                        "node" => Field::WHOLE.or_nil, "task" => Field::WHOLE.or_nil,
                        "spare" => Field::FLAG.or_nil, "mold" => Field::WHOLE,
                        "placed" => Field::FLAG, "suspects" => Field::SUSPECT_LIST,
                        descriptor: "the node's channel; with a slot, progress pages"),
          "end" => row("kills a process for which the supervisor has no descriptor, if it " \
                       "doesn't end within stop_timeout", "pid" => Field::WHOLE),
          "ping" => row("answers `pong`"),
          "retire" => row("ends the process that it has forked ahead, and forks no other ahead"),
          "leave" => row("ends when its channel closes, without waiting for its nodes")
        )

        FROM_MOLD = new(
          "mold", "supervisor",
          "loaded" => row("has loaded the file, with this in it", "name" => Field::TEXT,
                          "options" => Field::HASH, "tasks" => Field::TASK_LIST,
                          "events" => Field::LINE_LIST),
          "refused" => row("can't load or prepare", "sentence" => Field::TEXT,
                                                    "exit_code" => Field::WHOLE.or_nil),
          "ready" => row("is warm and can fork", "seconds" => Field::SECONDS,
                         "findings" => Field::LINE_LIST, "warnings" => Field::LINE_LIST,
                         "warmup" => Field::HASH, "passes_on" => Field::FLAG.or_nil,
                         "slots" => Field::WHOLE),
          "pong" => row("is alive"),
          "forked" => row("has forked a node", "page_index" => Field::WHOLE,
                                               "pid" => Field::WHOLE, descriptor: "the pidfd"),
          "preforked_stuck" => row("has killed a process forked ahead that gave no sign of life",
                                   "pid" => Field::WHOLE),
          "fork_failed" => row("couldn't fork; it is tried again after a backoff",
                               "page_index" => Field::WHOLE, "error" => Field::TEXT),
          "exited" => row("has reaped a node", "page_index" => Field::WHOLE,
                          "pid" => Field::WHOLE, "exit_status" => Field::WHOLE.or_nil,
                          "signal" => Field::TEXT.or_nil)
        )

        TO_NODE = new(
          "supervisor", "node",
          "stop" => row("ends its work; scaling_down: no node follows it; all: the swarm stops",
                        "scaling_down" => Field::FLAG, "all" => Field::FLAG.or_nil),
          "all_finished" => row("all nodes with its kind of work have said `finished`, or ended"),
          "quiet" => row("takes no new work"),
          "resume" => row("takes new work again"),
          "place" => row("is the only process in its slot from here on",
                         descriptor: "progress pages"),
          "suspects" => row("learns what other nodes had in flight when they crashed",
                            "added" => Field::SUSPECT_LIST.or_nil,
                            "dropped" => Field::ITEM_LIST.or_nil),
          "become_mold" => row("ends its work and becomes that mold", "mold" => Field::WHOLE,
                               descriptor: "the mold's channel"),
          "backtraces" => row("reports its backtraces; hung: it is considered hung",
                              "hung" => Field::FLAG.or_nil),
          "lines" => row("reports at which lines its threads stand: one makes no progress"),
          "measure" => row("measures its memory now"),
          "profile" => row("profiles itself for so many seconds, and answers `profile`, of so " \
                           "many bytes at most",
                           "seconds" => Field::SECONDS, "bytes" => Field::WHOLE),
          "chaos" => row("hangs or leaks, for `skep chaos`", "order" => Field::TEXT,
                                                             "bytes" => Field::WHOLE.or_nil),
          "step_in" => row("takes this slot", "node" => Field::WHOLE, "task" => Field::WHOLE,
                               descriptor: "progress pages", role: "spare"),
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
          "leaving" => row("has begun to stop; for_quiet: its work ended well because it was " \
                           "told of a quiet, and isn't done",
                           "for_quiet" => Field::FLAG.or_nil),
          "finished" => row("has done its work as the swarm stops; waits for `all_finished`"),
          "event" => row("its work has called `node.event`", "name" => Field::NAME, "level" => Field::LEVEL,
                                          "facts" => Field::HASH),
          "work" => row("its work has called `node.work=`", "facts" => Field::WORK),
          "assigned" => row("its work has called `node.assigned!`", "assigned" => Field::FLAG,
                                                                 "facts" => Field::HASH),
          "unhealthy" => row("its work has called `node.unhealthy!`", "reason" => Field::TEXT),
          "healthy" => row("its work has called `node.healthy!`"),
          "replace" => row("another process is to take its place: it is unfit, or " \
                           "another_process is to show whether it is",
                           "why" => Field::TEXT, "event" => Field::NAME, "facts" => Field::HASH),
          "failed" => row("its boot or its work raised", "sentence" => Field::TEXT,
                          "at" => Field::TEXT.or_nil,
                          "backtrace" => Field::LINE_LIST.or_nil, "refused" => Field::FLAG.or_nil,
                          "exit_code" => Field::WHOLE.or_nil),
          "clears_suspects" => row("its work clears crash suspects itself"),
          "suspects_resolved" => row("has done these items; blamed: they caused the crashes",
                          "suspects" => Field::ITEM_LIST, "blamed" => Field::FLAG),
          "backtraces" => row("sends its threads, while it is considered hung",
                              "threads" => Field::THREAD_LIST),
          "lines" => row("reports at which lines its threads stand, by their number; 0: the main " \
                          "thread", "lines" => Field::THREAD_LINE_LIST),
          "profile" => row("sends its profile as JSON, or a sentence why it has none",
                           "profile" => Field::TEXT.or_nil, "refused" => Field::TEXT.or_nil),
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
