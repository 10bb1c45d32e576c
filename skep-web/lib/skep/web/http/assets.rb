# frozen_string_literal: true

module Skep
  class Web
    module HTTP
      # The page's style sheet, scripts and icon: public files under /assets/. A browser keeps its
      # copy, and asks each time whether it is still the newest.
      module Assets
        PREFIX = "/assets"
        FILES = Rack::Files.new(File.expand_path("../assets", __dir__))
        HEADERS = { **Response::HEADERS, "cache-control" => "no-cache" }.freeze
        private_constant :PREFIX, :FILES, :HEADERS

        module_function

        def include?(path) = path.start_with?("#{PREFIX}/")

        def call(env)
          path = env["PATH_INFO"].delete_prefix(PREFIX)
          status, headers, body = FILES.call({ **env, "PATH_INFO" => path })
          [status, { **HEADERS, **headers }, body]
        end
      end
    end
  end
end
