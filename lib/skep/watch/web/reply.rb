# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # Answers, all of them with what keeps browsers strict: nothing is loaded from elsewhere,
      # no script that isn't a file of ours is run, nobody frames it, nothing is kept.
      #
      #   Reply.text(404, "there is no such page")
      #   Reply.json(200, done: "restart")
      #   Reply.html(200, "<!doctype html>…", "set-cookie" => "…")
      module Reply
        POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
                 "connect-src 'self'; form-action 'self'; base-uri 'self'; " \
                 "frame-ancestors 'none'; require-trusted-types-for 'script'"
        HEADERS = { "content-security-policy" => POLICY, "x-content-type-options" => "nosniff",
                    "x-frame-options" => "DENY", "referrer-policy" => "same-origin",
                    "cross-origin-resource-policy" => "same-origin",
                    "cross-origin-opener-policy" => "same-origin",
                    "cache-control" => "no-store" }.freeze
        private_constant :POLICY, :HEADERS

        module_function

        #: (Integer, String, String, ?Hash[String, String]) -> [Integer, Hash, Array[String]]
        def with(status, type, body, more = {})
          [status, { **HEADERS, "content-type" => type, "content-length" => body.bytesize.to_s,
                     **more }, [body]]
        end

        def text(status, sentence) = with(status, "text/plain; charset=utf-8", "#{sentence}\n")

        def html(status, body, more = {}) = with(status, "text/html; charset=utf-8", body, more)

        def json(status, facts) = with(status, "application/json", JSON.generate(facts))

        # Elsewhere, by GET.
        def see(place, more = {}) #: (String, ?Hash[String, String]) -> [Integer, Hash, Array]
          with(303, "text/plain", "", { "location" => place, **more })
        end

        # A browser asks each time whether its copy is still good.
        def file(file, known) #: (Files::Entry, String?) -> [Integer, Hash, Array[String]]
          caching = { "etag" => file.etag, "cache-control" => "no-cache" }
          return [304, { **HEADERS, **caching }, []] if known == file.etag

          with(200, file.type, file.text, caching)
        end

        # For what goes on and on.
        def stream_headers #: () -> Hash[String, untyped]
          { **HEADERS, "content-type" => "text/event-stream",
            "cache-control" => "no-store, no-transform", "x-accel-buffering" => "no" }
        end
      end
      private_constant :Reply
    end
  end
end
