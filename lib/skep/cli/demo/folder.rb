# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# The run's own folder: ledgers, the swarm's log, its stderr and its status socket.
#
#   folder = Folder.new(keep: nil)
#   folder.path("log")
#   folder.close           # removes it with all that is in it; or tells `keep`, an IO, where it is
module Skep
  module CLI
    class Demo
      class Folder
        attr_reader :root #: String
        attr_reader :ledgers #: String

        def initialize(keep:) #: (keep: IO?) -> void
          @keep = keep
          @root = Dir.mktmpdir("skep-demo-")
          @ledgers = path("ledgers")
          Dir.mkdir(@ledgers)
        end

        def path(name) = File.join(root, name) #: (String) -> String

        def close #: () -> void
          return FileUtils.remove_entry(root) unless @keep

          @keep.puts("skep: ledgers and log are in #{root}")
        end
      end
      private_constant :Folder
    end
  end
end
