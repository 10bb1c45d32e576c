# frozen_string_literal: true

# The HandlerRecords of a process, and those that it reads of others.
#
#   records = HandlerRecords.new(page, layout, 3)   # see HandlerRecord
module Skep
  class Swarm
    module IPC
      module Scoreboard
        class HandlerRecords
          def initialize(page, layout, page_index)
            @page, @layout, @page_index = page, layout, page_index
            @own = {}
          end

          # The record that this process writes. Kinds beyond RECORDS get none: nil.
          def own(kind)
            @own[kind] ||= begin
              cell = @layout.records(@page_index).to_a[@own.size]
              cell && HandlerRecord.new(@page, cell, kind)
            end
          end

          # Facts of the processes that have worked since the swarm started, without this one.
          def others(kind)
            indices = (0...@page.get(@layout.shared, Layout::USED)).reject { |one| one == @page_index }
            indices.flat_map do |index|
              @layout.records(index).filter_map { |cell| HandlerRecord.read(@page, cell, kind) }
            end
          end

          def inspect = "#<#{self.class} #{@own.size}>"
        end
      end
    end
  end
end
