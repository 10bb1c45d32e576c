# frozen_string_literal: true

# The pages in shared memory on which a node's work notes how far it is, so that the next process of
# its slot continues there after a crash: the process' own page, and the one that its predecessor
# left. The supervisor makes and passes them, and doesn't read what is on them. A process gets them
# with the message that gives it the slot, if its work uses them.
#
#   pages = ProgressPages.open(ios)      # in the node: its own page first
#   pages.own; pages.former              # OS::SharedPages; former: nil without a predecessor's
#   ProgressPages.publish(page, 1)       # it is complete, and has this version of its layout
#   ProgressPages.withdraw(page)         # it says nothing any more: the work has ended well
#   ProgressPages.version(page)          # => 1; 0: it says nothing
#
# Word 2 of cell 0 has the version. All else on a page is the work's.
module Skep
  class Swarm
    module IPC
      class ProgressPages
        VERSION = 2
        private_constant :VERSION

        # Returns nil without a page. The pages own the ios.
        def self.open(ios)
          own, former = ios.map { |io| OS::SharedPage.open(io, io.stat.size / OS::SharedPage::CELL) }
          own && new(own, former)
        end

        def self.publish(page, version) = page.set(0, VERSION, version)
        def self.withdraw(page) = page.set(0, VERSION, 0)
        def self.version(page) = page.get(0, VERSION)
        def self.in_use?(page) = !version(page).zero?

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
