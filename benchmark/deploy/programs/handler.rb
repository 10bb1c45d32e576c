# frozen_string_literal: true

require_relative "../../faults/programs/handler"

# What a consumer of the Rails application does with a message, the same in each server: it changes
# a row, in a transaction, and reports the payload.
#
#   Shop.boot                  # before the fork
#   Shop.call("42")
module Shop
  def self.boot
    require_relative "../../rails_app/application"
    RailsApp.boot
  end

  def self.call(payload)
    number = payload.to_i
    model = Object.const_get("Part#{number % RailsApp::MODELS}")
    model.find(1 + (number % Sources::ROWS)).sell!
    Handler.call(payload)
  end
end
