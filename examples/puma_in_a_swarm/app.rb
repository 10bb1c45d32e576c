# frozen_string_literal: true

# Any Rack application; one with a config.ru is `Rack::Builder.parse_file("config.ru")`.
APP = lambda do |env|
  text = "#{env["PATH_INFO"]} by #{ENV.fetch("SKEP_NODE_ID")}\n"
  [200, { "content-type" => "text/plain" }, [text]]
end
