# frozen_string_literal: true

require "json"
require "uri"

module Skep
  class Web
    module HTTP
      # A request, as Rack describes it. Headers that any client can send are believed only where
      # that is safe: X-Forwarded-For of trusted proxies, and no header about the host but Host.
      #
      #   request = Request.new(env, trusted_proxies)
      #   request.route            # => "/live", inside the mount point
      #   request.base             # => "/ops/", the mount point
      #   request.query["swarm"]   # => "billing"
      #   request.form             # => the fields of a body, which is JSON or a form
      #   request.same_origin?     # false: a page of another site sent it
      class Request < Rack::Request
        BODY_LIMIT = 4096      # bytes
        ADDRESS_LIMIT = 64     # characters
        private_constant :BODY_LIMIT, :ADDRESS_LIMIT

        def initialize(env, trusted_proxies)
          super(env)
          @trusted_proxies = trusted_proxies
        end

        def route = path_info.empty? ? "/" : path_info
        def base = "#{script_name.chomp("/")}/"
        def host = super.to_s.downcase
        def query = @query ||= fields(query_string)

        def cookies
          super
        rescue ArgumentError # the header isn't UTF-8
          {}
        end

        # The address of the client, behind trusted proxies.
        def client_address = ip.to_s[0, ADDRESS_LIMIT]

        # Rack's hook: X-Forwarded-For is read only behind such an address.
        def trusted_proxy?(address) = @trusted_proxies.include?(address)

        def forwarded_for = (super unless @trusted_proxies.empty?)

        # Rack would believe X-Forwarded-Host and Forwarded of any client.
        def forwarded_authority = nil

        # A browser keeps the cookies of all ports of a host in one place: part of their names.
        def explicit_port = authority.to_s[/:(\d+)\z/, 1]

        def form
          @form ||= json? ? json_object : fields(read_body)
        end

        # Browsers say which site's page sent a request.
        def same_origin?
          site = get_header("HTTP_SEC_FETCH_SITE")
          return site == "same-origin" if site

          origin = get_header("HTTP_ORIGIN")
          origin.nil? ||
            origin.downcase.match?(%r{\Ahttps?://#{Regexp.escape(authority.to_s.downcase)}\z})
        end

        private

        # Proxies add to X-Forwarded-For, and pass a client's own Forwarded on as it is.
        def forwarded_priority = [:x_forwarded]

        def json? = media_type == "application/json"

        def json_object
          value = JSON.parse(read_body)
          value.is_a?(Hash) ? value : raise(RequestRefused.new(400, "the body isn't a JSON object"))
        rescue JSON::ParserError
          raise RequestRefused.new(400, "the body isn't valid JSON")
        end

        def read_body
          text = body&.read(BODY_LIMIT + 1).to_s.dup.force_encoding("UTF-8")
          return text if text.bytesize <= BODY_LIMIT && text.valid_encoding?

          raise RequestRefused.new(413, "the body must be UTF-8, of at most #{BODY_LIMIT} bytes")
        end

        def fields(text)
          URI.decode_www_form(text).to_h.transform_values(&:scrub)
        rescue ArgumentError # an invalid %-encoding
          raise RequestRefused.new(400, "the query or the form is badly encoded")
        end
      end
    end
  end
end
