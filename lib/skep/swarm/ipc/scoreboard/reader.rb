# frozen_string_literal: true

# Reads from the page what a node's threads tell of themselves (Heartbeat writes it).
#
#   scoreboard = Reader.new(page, layout)
#   scoreboard.of(node)          # => [ThreadStatus, …]: the node's own, and of each thread at work
#   scoreboard.ill_since(node)   # => when it said `unhealthy!` and made no progress since; or nil
#   scoreboard.in_hand(node, 2)  # => ["orders/0/17-42 at 25", …], thread 2's first
#   scoreboard.held(node)        # => [["orders/0/17-42", 25], …]
#   scoreboard.weight(node)      # => when it counted its pages, and what; nil: not yet
module Skep
  class Swarm
    module IPC
      module Scoreboard
        # A thread's last sign of life: its cell, its number (0: the node's own), when it was, and
        # until when the thread may be silent. Monotonic seconds.
        ThreadStatus = Struct.new(:cell, :thread, :at, :busy_until)

        class Reader
          def initialize(page, layout) #: (OS::SharedPage, Layout) -> void
            @page = page
            @layout = layout
          end

          # A worker thread with nothing in hand owes nothing.
          def of(node) #: (Nodes::NodeProcess) -> Array[ThreadStatus]
            own, *others = *@layout.all(node.page_index)
            at_work = others.filter_map do |cell|
              held_since = seconds(cell, Layout::HELD_SINCE)
              sign(cell, cell - own, held_since) if held_since.positive?
            end
            [sign(own, 0, node.ready_at || 0.0), *at_work]
          end

          def ill_since(node) #: (Nodes::NodeProcess) -> Float?
            times = @layout.all(node.page_index).map { |cell| seconds(cell, Layout::ILL_SINCE) }
            times.select(&:positive?).min
          end

          def in_hand(node, thread = 0) #: (Nodes::NodeProcess, ?Integer) -> Array[String]
            held(node, thread).map { |held| CrashSuspects.name(*held) }
          end

          # Each thing's name, and which part of it was given out last, if that was told. A node can
          # write there what it likes.
          #: (Nodes::NodeProcess, ?Integer) -> Array[[String, Integer?]]
          def held(node, thread = 0)
            own = @layout.of(node.page_index)
            all = [own + thread, *@layout.all(node.page_index)].uniq
            all.filter_map do |cell|
              text = @page.read(cell).to_s.scrub
              [text, at(cell)] unless text.empty?
            end
          end

          #: (Nodes::NodeProcess) -> [Float, Hash[String, untyped]]?
          def weight(node) = MemorySample.find(@page, @layout.memory(node.page_index))

          private

          def sign(cell, thread, since)
            at = [seconds(cell, OS::SharedPage::BEAT), since].max
            ThreadStatus.new(cell, thread, at, seconds(cell, Layout::BUSY_UNTIL))
          end

          def at(cell)
            part = @page.get(cell, Layout::AT)
            part.zero? ? nil : part - 1
          end

          def seconds(cell, word) = @page.get(cell, word) / 1e9
        end
      end
    end
  end
end
