# frozen_string_literal: true

module Skep
  class Web
    module HTTP
      # The HTML of the page and of the login form, which the scripts fill: templates/*.html with
      # {names} in them.
      #
      #   Templates.page(request, session)    # => a Response
      module Templates
        FOLDER = File.expand_path("../templates", __dir__)
        TEXTS = %w[page login].to_h do |name|
          [name, File.read("#{FOLDER}/#{name}.html", encoding: "UTF-8").freeze]
        end.freeze
        private_constant :FOLDER, :TEXTS

        module_function

        def page(request, session)
          render(request, session, 200, "page", acts: session.acts?, user: session.name,
                                                leave: session.user ? "" : "hidden")
        end

        def login(request, session, status: 200, message: "")
          render(request, session, status, "login", message:)
        end

        def render(request, session, status, name, **facts)
          facts = { base: request.base, token: session.token, **facts }
          body = TEXTS.fetch(name).gsub(/\{(\w+)\}/) do
            Rack::Utils.escape_html(facts.fetch($1.to_sym).to_s.scrub)
          end
          Response.html(status, body)
        end
      end
    end
  end
end
