# frozen_string_literal: true

# Makes a page (IPC::ProgressPages) for each process that takes a slot, and gives it to the next one
# after a crash. Each process has its own page: one that is considered dead may still run, and must
# not write on the page of its successor.
#
#   slot_pages = SlotPages.new(4_096)     # cells; nil: the slot's work has no use for them
#   ios = slot_pages.take_over(process)   # to give to it: its own page, its predecessor's
#   slot_pages.leave(process)             # it is gone
#   slot_pages.close
#
# A process that dies before its page says anything leaves the page that it was given.
module Skep
  class Swarm
    module Nodes
      class SlotPages
        def initialize(cells)
          @cells = cells
          @pages = {}.compare_by_identity # by process
        end

        # Returns [] without pages: the process begins as without a predecessor then.
        def take_over(process)
          return [] unless @cells

          page = @pages[process] ||= OS::SharedPage.create(@cells)
          ios = []
          [page, *@former].each { |one| ios << one.to_io.dup }
          ios
        rescue SystemCallError # no descriptor, or no memory
          ios&.each(&:close)
          []
        end

        def leave(process)
          page = @pages.delete(process) or return
          return page.close unless IPC::ProgressPages.in_use?(page)

          @former&.close
          @former = page
        end

        def close
          [*@pages.values, *@former].each(&:close)
          @pages.clear
          @former = nil
        end

        def inspect = "#<#{self.class} pages=#{@pages.size}#{" and a former one" if @former}>"
      end
    end
  end
end
