# frozen_string_literal: true

require "json"

module Skep
  class Web
    module HTTP
      # Rack responses with headers that make a browser strict: it loads nothing from other hosts,
      # runs only our script files, shows the page in no frame and keeps no copy.
      #
      #   Response.text(404, "there is no such page")
      #   Response.json(200, done: "restart")
      #   Response.html(200, "<!doctype html>…")
      class Response < Rack::Response
        POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
                 "connect-src 'self'; form-action 'self'; base-uri 'self'; " \
                 "frame-ancestors 'none'; require-trusted-types-for 'script'"
        HEADERS = { "content-security-policy" => POLICY, "x-content-type-options" => "nosniff",
                    "x-frame-options" => "DENY", "referrer-policy" => "same-origin",
                    "cross-origin-resource-policy" => "same-origin",
                    "cross-origin-opener-policy" => "same-origin",
                    "cache-control" => "no-store" }.freeze
        private_constant :POLICY

        class << self
          def text(status, sentence) = with(status, "text/plain; charset=utf-8", "#{sentence}\n")
          def html(status, body) = with(status, "text/html; charset=utf-8", body)
          def json(status, facts) = with(status, "application/json", JSON.generate(facts))
          def redirect_to(place) = new([], 303, { **HEADERS, "location" => place })

          # A response of server-sent events, which ends when the body does.
          def event_stream(body, **headers)
            [200, { **HEADERS, "content-type" => "text/event-stream",
                    "cache-control" => "no-store, no-transform", "x-accel-buffering" => "no",
                    **headers.transform_keys(&:to_s) }, body]
          end

          private

          def with(status, type, body)
            new(body, status, { **HEADERS, "content-type" => type })
          end
        end
      end
    end
  end
end
