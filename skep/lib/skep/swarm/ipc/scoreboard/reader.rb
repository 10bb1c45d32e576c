# frozen_string_literal: true

# Reads what the threads of a node have written.
#
#   reader.of(node)          # => [ThreadStatus, …]: the process, and each thread at work
#   reader.unhealthy_since(node)   # => of an `unhealthy!` without progress since; or nil
#   reader.in_flight(node, 2)  # => ["orders/0/17-42 at 25", …], thread 2's first
#   reader.items_in_flight(node)   # => [["orders/0/17-42", 25], …]
#   reader.item(node, 2)           # => "orders/0/17-42 at 25"; nil: thread 2 has nothing in flight
#   reader.in_flight_since(node); reader.done_at(node); reader.progress_since?(node, time)
#   reader.memory_sample(node)   # => time and result of its last measurement, or nil
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class Reader
          def initialize(page, layout)
            @page = page
            @layout = layout
          end

          # A worker thread with nothing in flight is left out: it owes no progress.
          def of(node)
            own, *others = *@layout.all(node.page_index)
            at_work = others.filter_map do |cell|
              since = seconds(cell, Layout::IN_FLIGHT_SINCE)
              status(cell, cell - own, since) if since.positive?
            end
            [status(own, 0, node.ready_at || 0.0), *at_work]
          end

          # How many messages or items its threads have done.
          def done(node)
            @layout.all(node.page_index).sum { |cell| @page.get(cell, Layout::DONE) }
          end

          # When one of its threads has done something last; 0.0: none has.
          def done_at(node)
            @layout.all(node.page_index).map { |cell| seconds(cell, Layout::DONE_AT) }.max
          end

          # Since when a thread has made no progress with its item in flight; the earliest of these
          # times; nil: nothing is in flight.
          def in_flight_since(node)
            times = @layout.all(node.page_index).filter_map do |cell|
              since = seconds(cell, Layout::IN_FLIGHT_SINCE)
              [since, seconds(cell, OS::SharedPage::BEAT)].max if since.positive?
            end
            times.min
          end

          # How many of its threads have something in flight.
          def threads_in_flight(node)
            @layout.all(node.page_index).count do |cell|
              seconds(cell, Layout::IN_FLIGHT_SINCE).positive?
            end
          end

          # Returns true if one of its threads has done something since then, or has gone on with
          # what it had in flight then.
          def progress_since?(node, time)
            @layout.all(node.page_index).any? do |cell|
              began = seconds(cell, Layout::IN_FLIGHT_SINCE)
              next true if seconds(cell, Layout::DONE_AT) > time

              began.between?(Float::MIN, time) && seconds(cell, OS::SharedPage::BEAT) > time
            end
          end

          # Since when one of its threads is unhealthy, without progress; nil: none is.
          def unhealthy_since(node) = earliest(node, Layout::UNHEALTHY_SINCE)

          def in_flight(node, thread = 0)
            items_in_flight(node, thread).map { |item| CrashSuspects.name(*item) }
          end

          # Returns each item's name, and the part of it that was given out last, if it is known.
          def items_in_flight(node, thread = 0)
            own = @layout.of(node.page_index)
            all = [own + thread, *@layout.all(node.page_index)].uniq
            all.filter_map do |cell|
              text = @page.read(cell).to_s.scrub
              [text, current_item(cell)] unless text.empty?
            end
          end

          # Returns what a thread has in flight; nil: nothing.
          def item(node, thread)
            cell = @layout.of(node.page_index, thread:)
            text = @page.read(cell).to_s.scrub
            CrashSuspects.name(text, current_item(cell)) unless text.empty?
          end

          def memory_sample(node) = MemorySample.find(@page, @layout.memory(node.page_index))

          private

          def status(cell, thread, since)
            at = [seconds(cell, OS::SharedPage::BEAT), since].max
            ThreadStatus.new(cell, thread, at, seconds(cell, Layout::BUSY_UNTIL))
          end

          def earliest(node, word)
            times = @layout.all(node.page_index).map { |cell| seconds(cell, word) }
            times.select(&:positive?).min
          end

          def current_item(cell)
            part = @page.get(cell, Layout::CURRENT_ITEM)
            part.zero? ? nil : part - 1
          end

          def seconds(cell, word) = @page.get(cell, word) / 1e9
        end
      end
    end
  end
end
