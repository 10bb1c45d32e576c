# frozen_string_literal: true

# For commands that talk to a running swarm:
# found by name, by --control PATH, or because it is the only one here.
module Skep
  module CLI
    module Asking
      private

      def declare(parser)
        parser.on("--control PATH", "the swarm's status socket") { |path| options[:control] = path }
        super
      end

      def ask(command, path: control_path, **facts)
        answer = Watch::Query.new(path).ask(command, **facts)
        raise Misuse, answer["error"] if answer["error"]

        answer
      end

      def control_path
        options[:control] ||
          (@arguments.any? ? File.join(directory, "#{@arguments.shift}.sock") : the_only_one)
      end

      def the_only_one
        sockets = Dir.glob(File.join(directory, "*.sock"))
        return sockets.first if sockets.size == 1
        raise Misuse, "no swarm runs here: name its socket with --control PATH" if sockets.empty?

        names = sockets.map { |path| File.basename(path, ".sock") }.sort
        raise Misuse, "several swarms run here: name one of #{names.join(', ')}"
      end

      def directory = Swarm::Config.run_directory
    end
  end
end
