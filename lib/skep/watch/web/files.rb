# frozen_string_literal: true

require "digest"

module Skep
  module Watch
    class Web
      # What the page is made of, read once: style, scripts, the icon; and HTML that Shell fills in.
      #
      #   Files["/page.css"]       # => an Entry with type, text, etag; nil: no such file
      #   Files.text("page.html")
      module Files
        FOLDER = File.expand_path("files", __dir__)
        TYPES = { ".css" => "text/css; charset=utf-8", ".js" => "text/javascript; charset=utf-8",
                  ".svg" => "image/svg+xml" }.freeze
        Entry = Struct.new(:type, :text, :etag)
        private_constant :FOLDER, :TYPES

        ALL = Dir.children(FOLDER).to_h do |name|
          text = File.read(File.join(FOLDER, name), encoding: "UTF-8").freeze
          etag = "\"#{Digest::SHA256.hexdigest(text)[0, 20]}\""
          ["/#{name}", Entry.new(TYPES[File.extname(name)], text, etag).freeze]
        end.freeze

        module_function

        # One that anybody may have.
        def [](path) = ALL[path]&.then { |file| file if file.type } #: (String) -> Entry?

        def text(name) = ALL.fetch("/#{name}").text #: (String) -> String
      end
      private_constant :Files
    end
  end
end
