# frozen_string_literal: true

# What a swarm occupies while it runs: its name on this host, and the page that its processes share.
#
#   premises = Premises.new(config)
#   premises.occupy                # raises where the name is taken or can't be used (Lease)
#   premises.page                  # and premises.cells, who has which part of it
#   premises.keep(handover)        # for the next program,
#   premises.inherit(handover)     # which goes on with them in place of `occupy`
#   premises.leave
module Skep
  class Swarm
    class Premises
      attr_reader :page #: OS::Page
      attr_reader :cells #: Cells

      def initialize(config) #: (Config) -> void
        @config = config
      end

      def occupy #: () -> void
        @lease = Lease.new(@config.control_path, directory: @config.control_directory).take
        seats = @config.placement.size + @config.spares + 1 # one for the helper
        @cells = Cells.new(nodes: Roster.slots_for(seats), threads: @config.threads)
        @page = OS::Page.create(@cells.total)
      end

      def keep(handover) #: (Handover) -> Hash[String, untyped]
        { "control" => @config.control_path, "nodes" => @cells.nodes, "threads" => @cells.threads,
          "page" => handover.lend(@page), "lease" => handover.lend(@lease) }
      end

      def inherit(handover) #: (Handover) -> void
        refuse(handover["control"]) unless @config.control_path == handover["control"]

        @cells = Cells.new(nodes: handover["nodes"], threads: handover["threads"])
        @page = OS::Page.open(handover.take(handover["page"], ::File, "r+b"), @cells.total)
        @lease = Lease.new(@config.control_path)
                      .resume(handover.take(handover["lease"], ::File, "r+b"))
      end

      # USR1: the lock's file is made again if it was removed.
      def reopen = @lease&.restore #: () -> void

      def leave #: () -> void
        @page&.close
        @lease&.release
      end

      # In a process forked from the supervisor: the name stays the supervisor's.
      def disown #: () -> void
        @page&.close
        @lease&.disown
      end

      private

      def refuse(control)
        raise Skep::Error, "its status socket would be #{@config.control_path}, " \
                           "not #{control}: stop the swarm and start it anew"
      end
    end
    private_constant :Premises
  end
end
