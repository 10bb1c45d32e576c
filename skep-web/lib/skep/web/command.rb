# frozen_string_literal: true

require "ipaddr"
require "skep/cli"
require "skep/metrics"

# `skep web [NAME …]`: serves the web page (docs/guides/web.md) by Puma until TERM or INT.
module Skep
  class Web
    class Command < CLI::Command
      SUMMARY = "Serve a live page that shows and controls running swarms"
      USAGE = "skep web [NAME …] [--control PATH] [--port N] " \
              "[--user NAME --password-file FILE] [--file SWARM]"
      EXAMPLES = ["skep web", "skep web billing --port 8080",
                  "skep web --user ada --password-file /etc/skep/password",
                  "skep web --file swarm.rb --user ada --password-file /etc/skep/password",
                  "skep web --bind 0.0.0.0 --user ada --password-file /etc/skep/password"].freeze
      PORT = 9393
      LOCAL = ["localhost", "127.0.0.1", "[::1]"].freeze
      LIMITS = { threads: 5, first_data_timeout: 10, force_shutdown_after: 2,
                 http_content_length_limit: 65_536 }.freeze
      UsageError = CLI::UsageError
      private_constant :PORT, :LOCAL, :LIMITS, :UsageError

      private

      def declare(parser)
        where(parser)
        proxy(parser)
        parser.on("--user NAME", "the user that may log in; " \
                                 "without one the page is read-only") do |name|
          options[:user] = name
        end
        parser.on("--password-file FILE", "the file with that user's password " \
                                          "in its first line") do |path|
          options[:password_file] = path
        end
        parser.on("--file SWARM", "a swarm file, whose dead letter topics the page shows; " \
                                  "may be repeated") do |path|
          (options[:files] ||= []) << path
        end
      end

      def proxy(parser)
        parser.on("--proxy ADDRESS", "a trusted proxy or network of proxies (X-Forwarded-For); " \
                                     "may be repeated") do |address|
          (options[:proxies] ||= []) << address
        end
      end

      def where(parser)
        parser.on("--control PATH", "a swarm's control socket; may be repeated") do |path|
          (options[:control] ||= []) << path
        end
        parser.on("--port N", Integer, "(#{PORT})") { |port| options[:port] = port }
        parser.on("--bind ADDRESS", "(127.0.0.1)") { |address| options[:bind] = address }
        parser.on("--host NAME", "a host name of the page; may be repeated") do |name|
          (options[:hosts] ||= []) << name
        end
      end

      def perform
        check_access
        page = app
        serve(page, listen)
        0
      ensure
        page&.close
      end

      # Until TERM or INT.
      def serve(page, socket)
        address = Skep::Metrics::Address.of(socket)
        server = Skep::Metrics::PumaServer.new(page, errors: err, **LIMITS)
        signals = Swarm::Runtime::SelfPipe.new(%w[TERM INT])
        server.serve(socket)
        out.puts("skep web: http://#{address}/#{", read-only" unless options[:user]}")
        out.flush
        signals.to_io.wait_readable
      ensure
        server&.close
        signals&.release
      end

      def listen
        TCPServer.new(bind.sub("localhost", "127.0.0.1"), options[:port] || PORT)
      rescue SystemCallError, SocketError => e
        port = options[:port] || PORT
        raise CLI::CommandFailed, "the page can't listen at #{bind}, port #{port}: " \
                             "#{e.message.sub(/ - .*/, "").downcase}"
      end

      def app
        secret = options[:user] && password
        load_gems
        Skep::Web.new(*@arguments, control: options[:control], hosts:, user: options[:user],
                                   password: secret, proxies: options[:proxies] || [],
                                   dead_letters:)
      rescue ArgumentError => e # a proxy that isn't an address, a wrong setting of a swarm file
        raise UsageError, e.message
      end

      # The dead letter topics of the swarm files, each with the settings of its source.
      def dead_letters
        options[:files].to_a.each_with_object({}) do |path, all|
          topics_of(path).each do |topic, settings|
            if all.key?(topic) && all[topic] != settings
              raise UsageError, "#{path}: another swarm file has the dead letter topic " \
                                "#{topic}, with other settings: serve them on two pages"
            end
            all[topic] = settings
          end
        end
      end

      def topics_of(path)
        require "skep/kafka"
        require "skep/kafka/command"
        cluster = Kafka::Command::ClusterSettings.new({ file: path })
        topics = cluster.dead_letter_topics
        return topics.to_h { |topic| [topic, cluster.of_dead_letters(topic)] } if topics.any?

        raise UsageError, "#{path}: none of its sources has a dead_letter_topic"
      end

      def load_gems
        require "skep/web"
        require "puma"
        require "puma/server"
        major = ::Puma::Const::PUMA_VERSION.to_i
        raise LoadError, "puma is #{major} here" if major < 6

        require "skep/metrics/puma_server"
      rescue LoadError, Skep::Web::MissingGem => e
        error = e.respond_to?(:error) ? e.error : e.message
        raise Skep::Web::MissingGem.new(error:, needs: "skep web", also: { "puma" => "6" })
      end

      def bind = options[:bind] || "127.0.0.1"

      # For other addresses nil: any name, because we don't know how others call this host.
      def hosts = options[:hosts] || loopback? ? [*LOCAL, *options[:hosts]] : nil

      def check_access
        if options[:user].nil? != options[:password_file].nil?
          raise UsageError, "--user and --password-file go together: give both, or neither"
        end
        return if loopback? || options[:user]

        raise UsageError, "at #{bind} other machines can reach the page: " \
                          "give --user and --password-file, or bind it to 127.0.0.1"
      end

      def loopback?
        bind == "localhost" || IPAddr.new(bind).loopback?
      rescue IPAddr::Error
        raise UsageError, "--bind #{bind.inspect} is not an address: give one such as " \
                          "127.0.0.1 or ::1"
      end

      def password
        file = options[:password_file]
        raise UsageError, "other users may read #{file}: chmod 600 #{file}" if others_read?(file)

        line = File.open(file, &:gets).to_s.chomp
        line.empty? ? raise(UsageError, "#{file} is empty: write the password into it") : line
      rescue SystemCallError => e
        raise UsageError, "the password can't be read: #{e.message.sub(/ @ \w+/, "")}"
      end

      def others_read?(file) = (File.stat(file).mode & 0o007).positive?
    end
  end
end
