# frozen_string_literal: true

# The lines of the live table: who the nodes are, how far it is, the last kills.
#
#   frame = Frame.new(colours: true, unicode: true)
#   frame.lines(scene, now, rows: 24, columns: 80)   # => each 79 columns at most
module Skep
  module CLI
    class Demo
      class Frame
        COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 }.freeze
        STATES = { "ready" => :green, "killed" => :red, "dead" => :red }.freeze
        HEADINGS = ["node", "pid", "state", "partitions", "messages/s", "memory", "restarts"].freeze
        WIDTHS = [6, 9, -9, 10, 12, 10, 10].freeze # negative: to the left
        KILLS = 5 # that are shown
        OTHER_LINES = 11 + KILLS
        MEMORY_EVERY = 1.0
        MEBIBYTE = 1024.0 * 1024
        private_constant :COLOURS, :STATES, :HEADINGS, :WIDTHS, :KILLS, :OTHER_LINES, :MEMORY_EVERY,
                         :MEBIBYTE

        def initialize(colours:, unicode:) #: (colours: bool, unicode: bool) -> void
          @colours = colours
          @full, @empty, @dash, @dots = unicode ? %w[█ ░ – …] : %w[# . - ...]
          @memory = {}
        end

        #: (Scene, Float, rows: Integer, columns: Integer) -> Array[String]
        def lines(scene, now, rows:, columns:)
          measure(scene, now)
          room = [rows - OTHER_LINES, 1].max
          found = ["", *introduction(scene), "", *table(scene, room), "",
                   bar(scene, [columns, 80].min), figures(scene), "", *kills(scene)]
          found.map { |line| line.empty? ? line : "  #{line}" }
        end

        private

        def introduction(scene)
          first, *rest = scene.introduction
          [paint(first, :bold), *rest.map { |line| paint(line, :dim) }]
        end

        def table(scene, room)
          nodes = scene.roster.nodes
          hidden = [nodes.size - room, 0].max
          rows = nodes.first(room).map { |node| node_row(scene, node) }
          rows << paint("   and #{hidden} more", :dim) if hidden.positive?
          [paint(row(HEADINGS), :bold), *rows]
        end

        def node_row(scene, node)
          work = Array.new(3, @dash)
          work = work_of(scene, node) if node.ready?
          row([node.id, node.pid, node.state, *work, node.restarts])
            .sub(node.state) { |state| paint(state, STATES.fetch(state, :yellow)) }
        end

        def work_of(scene, node)
          bytes = @memory[node.pid]
          [node.partitions, Words.number(scene.pace.rate_of(node.id)),
           bytes ? "#{(bytes / MEBIBYTE).round} MiB" : @dash]
        end

        def row(cells)
          cells.zip(WIDTHS).map do |cell, width|
            width.negative? ? "  #{cell.to_s.ljust(-width)}" : cell.to_s.rjust(width)
          end.join
        end

        # Private memory: what its death would give back. Asking costs a millisecond.
        def measure(scene, now)
          pids = scene.roster.ready.map(&:pid)
          return if @measured_at && now - @measured_at < MEMORY_EVERY && @memory.keys == pids

          @measured_at = now
          @memory = pids.to_h { |pid| [pid, OS::Memory.of(pid)&.uss] }
        end

        def bar(scene, columns)
          tail = "#{scene.percent.to_s.rjust(4)} %   #{scene.time_left}".ljust(24)
          room = columns - tail.size - 5
          full = (room * scene.progress).floor
          " #{paint(@full * full, :yellow)}#{paint(@empty * (room - full), :dim)}#{tail}".rstrip
        end

        def figures(scene)
          again = scene.account.duplicates
          " #{scene.done} processed, #{Words.number(scene.pace.rate)} messages/s" \
            "#{", #{Words.number(again)} handled again" if again.positive?}"
        end

        def kills(scene)
          all = scene.plan.kills.to_s
          scene.kills.made.last(KILLS).map do |kill|
            " kill #{kill.number.to_s.rjust(all.size)} of #{all}   node #{kill.node}   " \
              "pid #{kill.pid} #{paint("SIGKILL", :red)}   #{answer(kill)}"
          end
        end

        def answer(kill)
          return paint(@dots, :yellow) unless kill.answered?

          "pid #{kill.successor} ready in #{paint(Words.milliseconds(kill.milliseconds), :green)}"
        end

        def paint(text, colour)
          @colours ? "\e[#{COLOURS.fetch(colour)}m#{text}\e[0m" : text
        end
      end
      private_constant :Frame
    end
  end
end
