# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # The HTML around what the scripts show: files/page.html and files/login.html, filled in.
      #
      #   Shell.page(request, visitor)     # => a Rack response
      module Shell
        ENTITIES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;",
                     "'" => "&#39;" }.freeze
        private_constant :ENTITIES

        module_function

        #: (Request, Visitor, ?Hash[String, String]) -> [Integer, Hash, Array[String]]
        def page(request, visitor, headers = {})
          html(request, visitor, 200, "page.html", headers, acts: visitor.acts?,
               user: visitor.name, leave: visitor.badge.user ? "" : "hidden")
        end

        #: (Request, Visitor, ?status: Integer, ?message: String) -> [Integer, Hash, Array[String]]
        def login(request, visitor, status: 200, message: "")
          html(request, visitor, status, "login.html", {}, message:)
        end

        def html(request, visitor, status, file, headers, **facts)
          facts = { base: "#{request.script}/", token: visitor.badge.token, **facts }
          body = Files.text(file).gsub(/\{(\w+)\}/) do
            facts.fetch($1.to_sym).to_s.scrub.gsub(/[&<>"']/, ENTITIES)
          end
          headers = Access.set_cookie(request, visitor.badge.cookie) if visitor.new?
          Reply.html(status, body, headers)
        end
      end
      private_constant :Shell
    end
  end
end
