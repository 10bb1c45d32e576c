# frozen_string_literal: true

require "ipaddr"

# `skep web [NAME …]`: the page of running swarms (docs/web.md), served by Puma until TERM or INT.
module Skep
  module CLI
    class Web < Command
      PURPOSE = "a page that shows running swarms, live, and steers them"
      USAGE = "skep web [NAME …] [--control PATH] [--port N] [--user NAME --password-file FILE]"
      EXAMPLES = ["skep web", "skep web billing --port 8080",
                  "skep web --user ada --password-file /etc/skep/password",
                  "skep web --bind 0.0.0.0 --user ada --password-file /etc/skep/password"].freeze
      PORT = 9393
      LOCAL = ["localhost", "127.0.0.1", "[::1]"].freeze
      private_constant :PORT, :LOCAL

      private

      def declare(parser)
        where(parser)
        proxy(parser)
        parser.on("--user NAME", "who may log in; without one there is only to look") do |name|
          options[:user] = name
        end
        parser.on("--password-file FILE", "holds that user's password, its first line") do |path|
          options[:password_file] = path
        end
      end

      def proxy(parser)
        parser.on("--proxy ADDRESS", "a proxy whose X-Forwarded-For is believed, or a network of " \
                                     "them; may come again") do |address|
          (options[:proxies] ||= []) << address
        end
      end

      def where(parser)
        parser.on("--control PATH", "a swarm's status socket; may come again") do |path|
          (options[:control] ||= []) << path
        end
        parser.on("--port N", Integer, "(#{PORT})") { |port| options[:port] = port }
        parser.on("--bind ADDRESS", "(127.0.0.1)") { |address| options[:bind] = address }
        parser.on("--host NAME", "a name it may be called by; may come again") do |name|
          (options[:hosts] ||= []) << name
        end
      end

      def perform
        guard_the_door
        page = app
        Server.new(page, bind, options[:port] || PORT, err).run do |address|
          out.puts("skep web: http://#{address}/#{", to look at only" unless options[:user]}")
          out.flush
        end
        0
      ensure
        page&.close
      end

      def app
        require "skep/web"
        Watch::Web.new(*@arguments, control: options[:control], hosts:, user: options[:user],
                                    password: options[:user] && password,
                                    proxies: options[:proxies] || [])
      rescue ArgumentError => e # what is no address
        raise Misuse, e.message
      end

      def bind = options[:bind] || "127.0.0.1"

      # Who reaches it from elsewhere calls it by a name that we can't know.
      def hosts = options[:hosts] || loopback? ? [*LOCAL, *options[:hosts]] : nil

      def guard_the_door
        if options[:user].nil? != options[:password_file].nil?
          raise Misuse, "--user and --password-file go together: give both, or neither"
        end
        return if loopback? || options[:user]

        raise Misuse, "at #{bind} others could reach the page: " \
                      "give --user and --password-file, or bind it to 127.0.0.1"
      end

      def loopback?
        bind == "localhost" || IPAddr.new(bind).loopback?
      rescue IPAddr::Error
        raise Misuse, "--bind #{bind.inspect} is no address: give one such as 127.0.0.1 or ::1"
      end

      def password
        file = options[:password_file]
        raise Misuse, "others may read #{file}: chmod 600 #{file}" if others_read?(file)

        line = File.open(file, &:gets).to_s.chomp
        line.empty? ? raise(Misuse, "#{file} is empty: write the password into it") : line
      rescue SystemCallError => e
        raise Misuse, "the password can't be read: #{e.message.sub(/ @ \w+/, "")}"
      end

      def others_read?(file) = (File.stat(file).mode & 0o007).positive?
    end
  end
end

require "skep/cli/web/server"
