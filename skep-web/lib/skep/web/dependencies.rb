# frozen_string_literal: true

# Loads what the page uses of the gems rack and rack-session; raises Skep::Web::MissingGem.
begin
  require "rack/files"
  require "rack/request"
  require "rack/response"
  require "rack/utils"
  require "rack/version"
  require "rack/session/encryptor"
rescue LoadError => e
  raise Skep::Web::MissingGem.new(error: e.message)
end
Rack.release.to_i >= 3 or raise Skep::Web::MissingGem.new(error: "rack is #{Rack.release} here")
