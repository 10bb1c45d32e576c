# frozen_string_literal: true

require "uri"

module Skep
  module Watch
    class Web
      # What a Rack environment says of a request.
      #
      #   request = Request.new(env)
      #   request.path            # => "/live", within the mount point `script`
      #   request.query("swarm")  # => "billing"
      #   request.form            # => the fields of its body, JSON or a form's
      #   request.ours?           # does it come from a page of ours?
      class Request
        BODY = 4096
        private_constant :BODY

        attr_reader :env #: Hash[String, untyped]

        #: (Hash[String, untyped], Proxies) -> void
        def initialize(env, proxies)
          @env = env
          @proxies = proxies
        end

        def method = env["REQUEST_METHOD"] #: () -> String
        def head? = method == "HEAD" #: () -> bool
        def script = env["SCRIPT_NAME"].to_s.chomp("/") #: () -> String
        def header(name) = env["HTTP_#{name}"] #: (String) -> String?
        def host = (header("HOST") || env["SERVER_NAME"]).to_s.downcase #: () -> String
        def host_name = host.sub(/:\d*\z/, "") #: () -> String

        # Of who asks, behind proxies that are trusted.
        def address = @proxies.client(env["REMOTE_ADDR"], header("X_FORWARDED_FOR")) #: () -> String

        def path #: () -> String
          path = env["PATH_INFO"].to_s
          path.empty? ? "/" : path
        end

        def secure? #: () -> bool
          env["rack.url_scheme"] == "https" || header("X_FORWARDED_PROTO") == "https"
        end

        def query(name) = fields(env["QUERY_STRING"].to_s)[name] #: (String) -> String?

        def cookie(name) #: (String) -> String?
          header("COOKIE").to_s.b.split(/; */).map { |pair| pair.split("=", 2) }.assoc(name)&.last
        end

        def form #: () -> Hash[String, untyped]
          json? ? object(JSON.parse(body)) : fields(body)
        rescue JSON::ParserError
          raise Refused.new(400, "the body is no JSON")
        end

        # Browsers tell where a request comes from: that it isn't another site's.
        def ours? #: () -> bool
          site, origin = %w[SEC_FETCH_SITE ORIGIN].map { |name| header(name) }
          return site == "same-origin" if site

          origin.nil? || origin.downcase.match?(%r{\Ahttps?://#{Regexp.escape(host)}\z})
        end

        private

        def json? = env["CONTENT_TYPE"].to_s.start_with?("application/json")

        def object(value)
          value.is_a?(Hash) ? value : raise(Refused.new(400, "the body is no JSON object"))
        end

        def body
          @body ||= env["rack.input"]&.read(BODY + 1).to_s.force_encoding("UTF-8")
          return @body if @body.bytesize <= BODY && @body.valid_encoding?

          raise Refused.new(413, "a body has #{BODY} bytes at most, of UTF-8")
        end

        def fields(text)
          URI.decode_www_form(text).to_h.transform_values(&:scrub)
        rescue ArgumentError # %-signs that mean nothing
          raise Refused.new(400, "the query or the form can't be read")
        end
      end
    end
  end
end
