# frozen_string_literal: true

# What a swarm occupies while it runs: its name on this host, and the page that its processes share.
#
#   resources = Resources.new(config)
#   resources.occupy                # raises where the name is taken or can't be used (Supervisor::NameLock)
#   resources.page                  # and resources.layout, which process has which part of it
#   resources.leave
module Skep
  class Swarm
    class Supervisor
      class Resources
        attr_reader :page
        attr_reader :layout

        def initialize(config)
          @config = config
        end

        def occupy
          @name_lock = Supervisor::NameLock.new(@config.control_path,
                                             directory: @config.control_directory).take
          slots = @config.placement.size + @config.spares + 1 # one for the helper
          @layout = IPC::Scoreboard::Layout.new(nodes: Nodes::NodeTable.slots_for(slots),
                                                threads: @config.threads)
          @page = OS::SharedPage.create(@layout.total)
        end

        # USR1: the lock's file is made again if it was removed.
        def reopen = @name_lock&.restore

        def leave
          @page&.close
          @name_lock&.release
        end

        # In a process forked from the supervisor: the name stays the supervisor's.
        def close_in_child
          @page&.close
          @name_lock&.close_in_child
        end
      end
    end
  end
end
