# frozen_string_literal: true

# The pages in shared memory on which a node's work notes how far it is, so that the next process of
# its slot continues there after a crash: the process' own page, and the one that its predecessor
# left. The supervisor makes and passes them, and doesn't read what is on them. A process gets them
# with the message that gives it the slot, if its work uses them.
#
#   pages = ProgressPages.open(ios)      # in the node: its own page first
#   pages.own; pages.former              # OS::SharedPages; former: nil without a predecessor's
#   ProgressPages.in_use?(page)          # does it say anything?
#
# The work sets the word IN_USE of cell 0 once its page is complete, and zeroes it when it has ended
# well.
module Skep
  class Swarm
    module IPC
      class ProgressPages
        IN_USE = 2

        # Returns nil without a page. The pages own the ios.
        def self.open(ios)
          own, former = ios.map { |io| OS::SharedPage.open(io, io.stat.size / OS::SharedPage::CELL) }
          own && new(own, former)
        end

        def self.in_use?(page) = !page.get(0, IN_USE).zero?

        attr_reader :own
        attr_reader :former

        def initialize(own, former = nil)
          @own, @former = own, former
        end

        def close = [@own, *@former].each(&:close)

        def inspect = "#<#{self.class} #{@own.cells} cells#{" after a predecessor" if @former}>"
      end
    end
  end
end
