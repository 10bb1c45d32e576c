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
        TEXTS = %w[page login dead_letters].to_h do |name|
          [name, File.read("#{FOLDER}/#{name}.html", encoding: "UTF-8").freeze]
        end
        # The page has that section only where there are dead letter topics.
        SECTION = "{dead_letters}\n"
        TEXTS["page with dead letters"] = TEXTS["page"].sub(SECTION, TEXTS["dead_letters"]).freeze
        TEXTS["page"] = TEXTS["page"].sub(SECTION, "").freeze
        TEXTS.freeze
        private_constant :FOLDER, :TEXTS, :SECTION

        module_function

        # dead_letters: nil for a page without them.
        def page(request, session, dead_letters: nil)
          name = dead_letters ? "page with dead letters" : "page"
          render(request, session, 200, name, acts: session.acts?, user: session.name,
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
