# frozen_string_literal: true

# The errors of Skep.map, and what ends a map early.
module Skep
  # Extends each exception that the block of Skep.map raises with the item it was raised for.
  #
  #   rescue KeyError => e
  #     e.skep_item; e.skep_index    # the item that the block was called with, and its index
  module ItemContext
    LONGEST = 80
    private_constant :LONGEST

    attr_reader :skep_item # the block's argument
    attr_reader :skep_index # its index among the items, from 0

    # Returns the exception; a frozen one is not extended.
    def self.add(error, item, index)
      return error if error.frozen?

      error.extend(self)
      error.instance_variable_set(:@skep_item, item)
      error.instance_variable_set(:@skep_index, index)
      error
    end

    # Describes an item in one line.
    def self.describe(item, index)
      text = "#{item.inspect}".scrub.encode(Encoding::UTF_8, undef: :replace).tr("\n", " ")
      text = "#{text[0, LONGEST]}…" if text.size > LONGEST
      "item #{index} (#{text})"
    rescue StandardError, ScriptError, SystemStackError # of its own inspect, or it has none
      "item #{index}"
    end
  end

  # Raised by Skep.map when two nodes have died while they processed the same item, or when the
  # block has called exit.
  #
  #   rescue Skep::NodeDied => e
  #     e.item; e.index           # the item that the node processed, and its index
  #     e.signal; e.exit_status   # "KILL" and nil, or nil and 1
  class NodeDied < Error
    attr_reader :item # what the node processed
    attr_reader :index # the item's index, from 0
    attr_reader :pid # of the node
    attr_reader :signal # the signal's name, as "KILL"; nil: the node has exited
    attr_reader :exit_status # the exit status; nil: a signal has killed the node

    # `reason` is what the node has recorded before it exited, if anything.
    def initialize(item:, index:, pid:, exit:, deaths:, reason: nil)
      @item = item
      @index = index
      @pid = pid
      @signal = exit.signal
      @exit_status = exit.exitstatus
      nodes = deaths == 1 ? "its node" : "#{deaths} nodes, the last"
      super("#{ItemContext.describe(item, index)} ended #{nodes} (pid #{pid}) with " \
            "#{exit}#{reason ? " (#{reason})" : hint}")
    end

    private

    def hint = signal == "KILL" ? ". If memory was short, dmesg shows what the kernel killed." : ""
  end

  # Replaces an exception of a node that can't be marshalled, or can't be loaded in the caller's
  # process. It has the original's message and backtrace.
  #
  #   rescue Skep::RemoteError => e
  #     e.error_class    # => "Payment::Refused"
  class RemoteError < Error
    attr_reader :error_class # the name of the original's class

    def initialize(error_class:, message:, because:)
      @error_class = error_class
      super("#{error_class}: #{message} " \
            "(the exception can't be sent to another process: #{because})")
    end
  end

  # Raise it in the block of Skep.map to end the map early, as `break` ends the loop over an Array:
  # map returns the given value, or nil. Items in progress are finished, no other item is begun.
  #
  #   Skep.each(urls) { |url| raise Skep::Stop, url if found?(url) }   # => the url
  #
  # It is no StandardError, so that a block that rescues its errors doesn't swallow it.
  class Stop < Exception # rubocop:disable Lint/InheritException -- see above
    attr_reader :value

    def initialize(value = nil)
      @value = value
      super("Skep::Stop was raised outside the block of Skep.map")
    end
  end

  # Raised by Skep.map when an item or a result can't be sent from one process to another.
  class Unmarshallable < Error
    attr_reader :index # the item's index, from 0

    def initialize(what:, index:, because:, instead:)
      @index = index
      super("#{what} can't be sent to another process (#{because}). #{instead}.")
    end
  end
end
