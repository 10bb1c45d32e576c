# frozen_string_literal: true

# What a swarm occupies while it runs: its name on this host, and the page that its processes share.
#
#   resources = Resources.new(config)
#   resources.occupy                # raises where the name is taken or can't be used (Supervisor::NameLock)
#   resources.page                  # and resources.layout, which process has which part of it
#   resources.dump(state_file)        # for the next program,
#   resources.inherit(state_file)     # which continues with them in place of `occupy`
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

        def dump(state_file)
          { "control" => @config.control_path, "nodes" => @layout.nodes,
            "threads" => @layout.threads, "page" => state_file.lend(@page),
            "name_lock" => state_file.lend(@name_lock) }
        end

        def inherit(state_file)
          refuse(state_file["control"]) unless @config.control_path == state_file["control"]

          @layout = IPC::Scoreboard::Layout.new(nodes: state_file["nodes"],
                                                threads: state_file["threads"])
          @page = OS::SharedPage.open(state_file.take(state_file["page"], ::File, "r+b"),
                                      @layout.total)
          lock_file = state_file.take(state_file["name_lock"], ::File, "r+b")
          @name_lock = Supervisor::NameLock.new(@config.control_path).resume(lock_file)
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

        private

        def refuse(control)
          raise Skep::Error, "its control socket would be #{@config.control_path}, " \
                             "not #{control}: stop the swarm and start it again"
        end
      end
    end
  end
end
