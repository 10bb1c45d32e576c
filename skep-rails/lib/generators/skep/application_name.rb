# frozen_string_literal: true

module Skep
  module Generators
    # What the swarm, its topics and its groups are called: the application's name.
    module ApplicationName
      private

      def application
        ::Rails.application.class.name.delete_suffix("::Application").underscore.tr("/", "-")
      end
    end
  end
end
