# frozen_string_literal: true

# A command for a running swarm: found by name, by --control PATH, or because it is the only one.
#
# A subclass with a COMMAND sends that to the swarm's control socket, with `facts`; others override
# `perform`.
module Skep
  module CLI
    class SwarmCommand < Command
      ARGUMENT = :swarm
      ELSEWHERE = "set SKEP_RUN_DIR or use --control if it uses another one"
      private_constant :ELSEWHERE

      private

      def declare(parser)
        parser.on("--control PATH", "the swarm's control socket") { |path|
          options[:control] = path
        }
      end

      def perform
        path = control_path
        reject_extra_arguments!
        request(path)
        0
      end

      def request(path) = ask(path, self.class::COMMAND, **facts)
      def facts = {}

      def ask(path, command, **facts)
        client = Control::Client.new(path)
        client.must_take(command, facts.keys - [:timeout])
        answer = client.call(command, **facts)
        raise CommandFailed, answer["error"] if answer["error"]
        return answer if answer["done"]

        raise Control::Unreachable.because(path, Control::InvalidAnswer.new)
      end

      def control_path
        return arguments.any? ? path_of(arguments.shift) : only_one unless options[:control]
        raise UsageError, "give NAME or --control, not both: #{usage}" if arguments.any?

        options[:control]
      end

      # Returns true if the command line says which swarm is meant.
      def named? = options[:control] || arguments.any?

      def path_of(name)
        unless Swarm::Definition::Config.valid_name?(name)
          raise UsageError, "invalid name #{name.inspect}: #{Swarm::Definition::Config::NAME_RULE}"
        end

        path = File.join(directory, "#{name}.sock")
        return path if ours?(path)

        abstract = running_abstract.find { |one| name_of(one) == name }
        return abstract if abstract

        why = without_socket(path) and raise CommandFailed, why
        raise CommandFailed, "no swarm called #{name} runs in #{directory}: #{advice(name)}"
      end

      def advice(name)
        names = running.map { |path| name_of(path) }
        nearest = Spelling.nearest(name, names)
        return "did you mean #{nearest}?" if nearest

        [*("running swarms: #{names.join(", ")}" if names.any?), ELSEWHERE].join("; ")
      end

      def only_one
        paths = running
        return paths.first if paths.one?
        raise CommandFailed, unreachable || none if paths.empty?

        names = paths.map { |path| name_of(path) }
        raise CommandFailed, "several swarms run here: name one of #{names.join(", ")}"
      end

      # Why no command can reach the swarm that has no socket at that path; nil if none runs there.
      def without_socket(path)
        pid = Swarm::Supervisor::NameLock.without_socket(path) or return
        "swarm #{name_of(path)} (pid #{pid}) has no control socket, as its option control is " \
          "false: use signals, or start it without that option"
      end

      # The same for the first swarm without a socket.
      def unreachable
        paths = Dir.glob("*.sock.lock", base: directory).sort.map do |file|
          File.join(directory, file.delete_suffix(".lock"))
        end
        paths.lazy.filter_map { |path| without_socket(path) }.first
      end

      def none = "no swarm runs in #{directory}: #{ELSEWHERE}"

      # The paths of the control sockets at which a swarm listens.
      def running
        files = Dir.glob("*.sock", base: directory).sort.map { |file| File.join(directory, file) }
        files.select { |path| ours?(path) && listens?(path) } + running_abstract
      end

      # The same of swarms without a run directory.
      def running_abstract
        Swarm::Definition::AbstractSocket.paths.select { |path| listens?(path) }
      end

      def name_of(path) = File.basename(path, ".sock")

      # A directory in which no other user can replace a socket.
      def directory
        @directory ||= Swarm::Definition::RunDirectory.new(Swarm::Definition::RunDirectory.path).check
      end

      def ours?(path)
        stat = File.lstat(path)
        stat.socket? && Swarm::Definition::RunDirectory.trusted?(stat, asking: true)
      rescue SystemCallError
        false
      end

      # A supervisor that was killed leaves its socket behind.
      def listens?(path)
        Control::Connection.connect_nonblock(path).close
        true
      rescue Errno::EAGAIN # its queue is full: it listens
        true
      rescue SystemCallError, ArgumentError
        false
      end
    end
  end
end
