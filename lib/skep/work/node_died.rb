# frozen_string_literal: true

module Skep
  # Raised by Skep.map when an item has ended two nodes, killed or out of memory; or one, by exit.
  #
  #   rescue Skep::NodeDied => e
  #     e.item; e.index       # what was in hand, and its place
  #     e.signal; e.status    # "KILL" and nil, or nil and the exit status
  class NodeDied < Error
    attr_reader :item   #: untyped, which it was at
    attr_reader :index  #: Integer, its place among the items, from 0
    attr_reader :pid    #: Integer, of the node
    attr_reader :signal #: String?, its name, as "KILL"; nil: it exited
    attr_reader :status #: Integer?, its exit status; nil: a signal ended it

    # `words` is what the node could say of its end, if anything.
    #
    #: (item: untyped, index: Integer, pid: Integer, exit: untyped, deaths: Integer,
    #:   words: String?) -> void
    def initialize(item:, index:, pid:, exit:, deaths:, words: nil)
      @item = item
      @index = index
      @pid = pid
      @signal = exit.signal
      @status = exit.exitstatus
      nodes = deaths == 1 ? "its node" : "#{deaths} nodes, the last"
      super("#{AtItem.describe(item, index)} ended #{nodes} (pid #{pid}) with " \
            "#{exit}#{words ? ", #{words}" : advice}")
    end

    private

    #: () -> String
    def advice = signal == "KILL" ? ": was memory short? dmesg tells of what the kernel killed" : ""
  end
end
